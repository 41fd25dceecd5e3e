"""A claim whose process stands on an incident, on a real broker: it says so, and there is a way on."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyzeebe.proto.gateway_pb2 import CancelProcessInstanceRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from bpmn.names import ProcessId
from domain.claim_state import ClaimState
from domain.outputs import iso_time
from domain.payer_status import PayerLimits
from domain.submission import Accepted, AccessDenied, Duplicate, Failed, SendResult, Submission
from gateways.zeebe import engine
from persistence.encryption.cipher import Cipher
from persistence.repositories.payloads import seal_payload
from tests.process.records import Record
from tests.process.stage import Claim, Stage, eventually
from tests.support.command_line import environment, run_reenvio
from tests.support.orders import answered
from workers.payers.limits import LimitsByPayer

DENIED = AccessDenied("UNAUTHORIZED - login or password is wrong", "FAULT:LoginInvalido")
BROKEN = RuntimeError("a fault of our own")
TIMEOUT = Failed("TIMEOUT - no answer")
STOLEN = "CPF 529.982.247-25"
Reenvio = Callable[..., Awaitable[tuple[int | None, str]]]


@dataclass
class Payer:
    """One answer for everybody until the test gives another; an error is raised."""

    id: str
    answer: SendResult | Exception
    sent: list[Submission] = field(default_factory=list)

    async def send(self, submission: Submission, _now: datetime) -> SendResult:
        self.sent.append(submission)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def reenvio(stage: Stage, broker_config: engine.EngineConfig) -> Reenvio:
    """A person's command line; its exit code and all that it said."""
    given = {
        "ENGINE_HOME": str(broker_config.home),
        "DATABASE_URL": stage.settings.database,
        "COLUMNS": "400",
    }

    async def run(*arguments: str) -> tuple[int | None, str]:
        whole = environment(stage.settings.home, **given)
        done = await run_reenvio(whole, *answered(*arguments), together=True)
        return done.returncode, done.stdout

    return run


@asynccontextmanager
async def working(stage: Stage, name: str, answer: SendResult | Exception) -> AsyncIterator[Payer]:
    """A worker that sends to such a payer."""
    payer = Payer(f"{name}-{stage.run_id}", answer)
    async with stage.worker(payer, LimitsByPayer({payer.id: PayerLimits(needs_proof=False)})):
        yield payer


async def test_refused_credentials_are_told_and_all_their_claims_go_on_by_one_command(
    stage: Stage, reenvio: Reenvio
) -> None:
    async with working(stage, "denied", DENIED) as payer:
        claim = await stage.run(ProcessId.SUB_06, payerId=payer.id)
        incident = await stage.incident(claim)
        id_, key = claim.id.value, str(claim.instance)

        _, listed = await reenvio("claim", "list", "--payer", payer.id)
        assert "FAILED (incident)" in listed
        _, shown = await reenvio("claim", "show", id_)
        for told in ("refused our credentials", key, str(incident.value["jobKey"]), "since", "claim resolve"):
            assert told in shown
        code, said = await reenvio("claim", "retry-now", id_)
        assert (code, key in said, "was told nothing" in said) == (1, True, True), said
        code, said = await reenvio("claim", "resolve", id_)
        assert (code, f"reenvio payer resume {payer.id}" in said) == (1, True), said
        assert len(payer.sent) == 1

        payer.answer = Accepted("P-1")
        code, said = await reenvio("payer", "resume", payer.id)
        assert (code, f"reenvio claim resolve --payer {payer.id}" in said) == (0, True), said
        assert "1 claim" in said
        code, said = await reenvio("claim", "resolve", "--payer", payer.id, "--dry-run")
        assert (code, id_ in said, len(payer.sent)) == (0, True, 1), said
        code, said = await reenvio("claim", "resolve", "--payer", payer.id)
        assert code == 0, said
        await stage.reaches(claim, ClaimState.ACCEPTED)
        assert (await stage.ended(claim))[-1] == "End_ClaimAccepted"
        assert len(payer.sent) == 2
        _, shown = await reenvio("claim", "show", id_)
        assert "instance" not in shown
        assert "incident_resolved" in await stage.events(claim)


async def test_a_claim_on_an_incident_is_really_cancelled(stage: Stage, reenvio: Reenvio) -> None:
    async with working(stage, "cancels", DENIED) as payer:
        claim = await stage.run(ProcessId.SUB_06, payerId=payer.id)
        await stage.incident(claim)
        code, said = await reenvio("claim", "cancel", claim.id.value)
        assert (code, f"{claim.id} is cancelled" in said) == (0, True), said
        row = await stage.row(claim)
        assert row is not None
        assert row.state is ClaimState.CANCELLED
        assert (await stage.ended(claim))[-1] == "End_ClaimCancelled"
        assert len(payer.sent) == 1


async def test_after_exhausted_technical_retries_a_claim_goes_on_as_the_same_job(
    stage: Stage, reenvio: Reenvio
) -> None:
    async with working(stage, "broken", BROKEN) as payer:
        claim = await stage.run(ProcessId.SUB_06, payerId=payer.id)
        await retries_run_out(stage, claim)
        code, said = await reenvio("claim", "retry-now", claim.id.value)
        assert (code, "RuntimeError" in said, "claim resolve" in said) == (1, True, True), said
        code, said = await reenvio("claim", "cancel", claim.id.value)  # a send without an answer
        assert (code, "--although-sent" in said) == (1, True), said

        payer.answer = Duplicate()
        code, said = await reenvio("claim", "resolve", claim.id.value)
        assert code == 0, said
        row = await stage.reaches(claim, ClaimState.IN_REVIEW)
        assert row.reason == "PROTOCOL_MISSING"
        assert [sent.after_lost_answer for sent in payer.sent] == [False, True, True, True]
        async with stage.app.store.reading() as tx:
            first = stage.records.of_instance(claim.instance, "JOB", "CREATED")[0].key
            last = await tx.attempts.of_job(first, claim.id.value)
        assert last is not None
        assert last.attempt == len(payer.sent)


async def test_a_lost_key_shows_with_the_waiting_claim_which_can_be_cancelled(
    stage: Stage, reenvio: Reenvio
) -> None:
    async with working(stage, "keyless", TIMEOUT) as payer:
        claim = await stage.run(ProcessId.SUB_06, payerId=payer.id)
        await stage.reaches(claim, ClaimState.WAITING)
        lost = seal_payload(Cipher("gone", {"gone": b"k" * 32}), claim.id.value, b"<lote/>")
        async with stage.app.store.transaction() as tx:
            await tx.payloads.put(claim.id.value, lost, now=await stage.clock.now())
        await stage.pass_the_wait(claim)
        await retries_run_out(stage, claim)
        _, shown = await reenvio("claim", "show", claim.id.value)
        assert ("WAITING" in shown, "ENCRYPTION_KEYS" in shown) == (True, True), shown
        code, said = await reenvio("claim", "retry-now", claim.id.value)
        assert (code, "ENCRYPTION_KEYS" in said) == (1, True), said
        code, said = await reenvio("claim", "cancel", claim.id.value)
        assert code == 0, said
        assert (await stage.ended(claim))[-1] == "End_ClaimCancelled"
        assert len(payer.sent) == 1


async def test_a_bad_variable_shows_before_any_send_and_is_corrected_from_the_command_line(
    stage: Stage, reenvio: Reenvio
) -> None:
    async with working(stage, "variable", Accepted("P-2")) as payer:
        claim = await stage.run(ProcessId.SUB_06, payerId=payer.id, deadline="tomorrow")
        await stage.incident(claim)
        _, listed = await reenvio("claim", "list", "--incidents")
        assert claim.id.value in listed
        _, shown = await reenvio("claim", "show", claim.id.value)
        assert "deadline" in shown
        code, said = await reenvio("claim", "resolve", claim.id.value, "--set", f"submissionError={STOLEN}")
        assert (code, STOLEN in said) == (2, False), said
        due = iso_time(await stage.clock.now() + timedelta(hours=30))
        code, said = await reenvio("claim", "resolve", claim.id.value, "--set", f"deadline={due}")
        assert code == 0, said
        await stage.reaches(claim, ClaimState.ACCEPTED)
        assert (await stage.ended(claim))[-1] == "End_ClaimAccepted"
        assert len(payer.sent) == 1


async def test_a_retry_is_pending_until_its_time_has_come_by_the_engines_clock(
    stage: Stage, reenvio: Reenvio
) -> None:
    async with working(stage, "pending", Accepted("P-4")):
        claim = await stage.run(ProcessId.SUB_06_ANALYZE, submissionError="TIMEOUT", retryCount=4)
        await stage.completes(claim, "Task_AnalyzeRetry")
        _, listed = await reenvio("claim", "pending", "--limit", "10000")
        assert claim.id.value in listed
        await stage.pass_until(await stage.clock.now() + timedelta(hours=5))
        await stage.completes(claim, "End_RetryDue")
        _, listed = await reenvio("claim", "pending", "--limit", "10000")
        assert claim.id.value not in listed


async def test_what_was_mended_in_operate_is_no_incident_here_any_more(
    stage: Stage, reenvio: Reenvio
) -> None:
    async with working(stage, "operate", Accepted("P-3")) as payer:
        claim = await stage.run(ProcessId.SUB_06, payerId=payer.id, deadline="tomorrow")
        incident = await stage.incident(claim)
        await stage.mend(claim, incident, deadline=None)
        row = await stage.reaches(claim, ClaimState.ACCEPTED)
        assert row.incident is None
        code, said = await reenvio("claim", "resolve", claim.id.value)
        assert (code, "no incident" in said) == (1, True), said


async def test_a_claim_whose_process_was_ended_in_operate_is_no_dead_end(
    stage: Stage, reenvio: Reenvio
) -> None:
    async with working(stage, "ended", DENIED) as payer:
        claim = await stage.run(ProcessId.SUB_06, payerId=payer.id)
        await stage.incident(claim)
        stub: Any = GatewayStub(stage.app.channel)
        await stub.CancelProcessInstance(CancelProcessInstanceRequest(processInstanceKey=claim.instance))
        payer.answer = Accepted("P-4")
        await reenvio("payer", "resume", payer.id)
        code, said = await reenvio("claim", "resolve", claim.id.value)
        assert (code, f"`reenvio claim cancel {claim.id}`" in said) == (1, True), said
        code, said = await reenvio("claim", "cancel", claim.id.value)
        assert (code, f"{claim.id} is cancelled" in said) == (0, True), said
        await stage.reaches(claim, ClaimState.CANCELLED)
        assert len(payer.sent) == 1


async def test_a_wish_that_no_worker_confirms_is_not_called_done(stage: Stage, reenvio: Reenvio) -> None:
    async with working(stage, "alone", TIMEOUT) as payer:
        claim = await stage.run(ProcessId.SUB_06, payerId=payer.id)
        await stage.reaches(claim, ClaimState.WAITING)
    code, said = await reenvio("claim", "cancel", claim.id.value)
    assert (code, "not known yet" in said, "is cancelled" in said) == (3, True, False), said
    async with working(stage, "alone", TIMEOUT):
        await stage.reaches(claim, ClaimState.CANCELLED)


async def retries_run_out(stage: Stage, claim: Claim) -> Record:
    """Let the pause after each technical failure pass until the engine has an incident.

    The clock moves once a failure: an engine hurried on while a job fails may forget to hand it out again.
    """
    passed = 0

    async def look() -> Record | None:
        nonlocal passed
        found = stage.records.of_instance(claim.instance, "INCIDENT", "CREATED")
        if not found and passed < len(stage.records.of_instance(claim.instance, "JOB", "FAILED")):
            passed += 1
            await stage.clock.advance(timedelta(seconds=6))
        return found[-1] if found else None

    return await eventually(look, f"an incident of {claim.id}")
