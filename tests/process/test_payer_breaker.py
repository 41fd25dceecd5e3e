"""SUB_06 and a payer in trouble, on a real broker: claims are held, not spent, and go out in order."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bpmn.names import ProcessId
from domain.claim_state import ClaimState
from domain.outputs import iso_time
from domain.payer_status import PayerLimits, PayerState, PayerStatus
from domain.submission import Accepted, AccessDenied, Failed, SendResult, Submission
from gateways.zeebe import engine
from persistence.repositories.claims import ClaimRow
from tests.process.stage import Claim, Stage, eventually
from workers.payers.limits import LimitsByPayer
from workers.payers.orders import Orders
from workers.payers.waking import Waker, by_message

DOWN = Failed("SERVICE_UNAVAILABLE - 503", "HTTP:503", payer_down=True)
DENIED = AccessDenied("UNAUTHORIZED - login or password is wrong", "FAULT:LoginInvalido")


@dataclass
class Payer:
    """A payer of one test's own: one answer for everybody, until the test gives another."""

    stage: Stage
    id: str
    limits: PayerLimits
    answer: SendResult
    sent: list[str] = field(default_factory=list)

    async def send(self, submission: Submission, _now: datetime) -> SendResult:
        """Keep the order of arrival."""
        self.sent.append(submission.claim_id)
        return self.answer

    @property
    def limits_by_payer(self) -> LimitsByPayer:
        return LimitsByPayer({self.id: self.limits})

    @property
    def orders(self) -> Orders:
        store, limits = self.stage.app.store, self.limits_by_payer
        return Orders(store, limits, Waker(store, limits, by_message(self.stage.app.commands)))

    async def claim(self, *, hours: float = 48) -> Claim:
        """A claim on its way to this payer."""
        deadline = iso_time(await self.stage.clock.now() + timedelta(hours=hours))
        claim_id = self.stage.new_claim_id()
        return await self.stage.run(ProcessId.SUB_06, claim_id, payerId=self.id, deadline=deadline)

    async def status(self) -> PayerStatus:
        async with self.stage.app.store.reading() as tx:
            status = await tx.payers.find(self.id)
        assert status
        return status

    async def reaches(self, state: PayerState) -> PayerStatus:
        async def look() -> PayerStatus | None:
            status = await self.status()
            return status if status.state is state else None

        return await eventually(look, f"{self.id} {state}")

    async def spends(self, claim: Claim) -> int:
        """How many attempts the claim has used."""
        async with self.stage.app.store.reading() as tx:
            return await tx.attempts.count(claim.id.value)

    async def all_called(self, claims: list[Claim], *, before: datetime) -> None:
        """Wait until every claim is through, or has a slot sooner than it had hoped for."""

        async def look(claim: Claim) -> bool | None:
            row = await self.stage.row(claim)
            return bool(row and (row.next_retry_time is None or row.next_retry_time < before)) or None

        for claim in claims:
            await eventually(lambda claim=claim: look(claim), f"a slot for {claim.id}")  # type: ignore[misc]

    async def all_accepted(self, claims: list[Claim]) -> None:
        """Let engine time pass, wait by wait, until every claim is through."""
        for claim in claims:
            while (row := await self.moved_on(claim)).state is not ClaimState.ACCEPTED:
                assert row.next_retry_time
                await self.stage.pass_until(row.next_retry_time)

    async def moved_on(self, claim: Claim) -> ClaimRow:
        """The claim once it is through, or waits for a time that is still to come."""

        async def look() -> ClaimRow | None:
            row, now = await self.stage.row(claim), await self.stage.clock.now()
            waits = row and row.next_retry_time and row.next_retry_time > now
            return row if row and (waits or row.state is ClaimState.ACCEPTED) else None

        return await eventually(look, f"{claim.id} to move on")


@asynccontextmanager
async def working(stage: Stage, name: str, limits: PayerLimits, answer: SendResult) -> AsyncIterator[Payer]:
    """A worker that sends to such a payer."""
    payer = Payer(stage, f"{name}-{stage.run_id}", limits, answer)
    async with stage.worker(payer, payer.limits_by_payer):
        yield payer


async def test_an_outage_costs_those_who_met_it_an_attempt_and_nobody_else(stage: Stage) -> None:
    limits = PayerLimits(per_minute=3, threshold=2, needs_proof=False)  # slots further apart than the grace
    async with working(stage, "outage", limits, DOWN) as payer:
        first = [await payer.claim() for _ in range(2)]
        for claim in first:
            await stage.reaches(claim, ClaimState.WAITING, retry_count=1)
        opened = await payer.reaches(PayerState.OPEN)
        assert opened.next_try_at

        held = [await payer.claim(hours=48 - n) for n in range(5)]
        for claim in held:
            row = await stage.reaches(claim, ClaimState.WAITING, retry_count=0)
            assert row.next_retry_time
            assert row.next_retry_time >= opened.next_try_at
        await stage.app.messages.retry_now(held[0].id)  # a person's wish does not break the rule
        await stage.completes(held[0], "Event_RetryRequested")
        await stage.reaches(held[0], ClaimState.WAITING, retry_count=0)
        assert [await payer.spends(claim) for claim in held] == [0] * 5
        assert len(payer.sent) == 2

        payer.answer = Accepted("P-1")
        await payer.orders.resume(payer.id, await stage.clock.now())
        await payer.all_called(held, before=opened.next_try_at)
        await payer.all_accepted([*held[::-1], *first])

        urgent_first = [claim.id.value for claim in held[::-1]]
        assert [sent for sent in payer.sent if sent in urgent_first] == urgent_first
        assert [await payer.spends(claim) for claim in held] == [1] * 5
        for claim in held:
            assert await stage.events(claim) == ["payer_unavailable", "accepted"]
            assert (await stage.ended(claim))[-1] == "End_ClaimAccepted"


async def test_a_payer_that_recovers_is_found_by_a_single_claim(stage: Stage) -> None:
    async with working(stage, "recovers", PayerLimits(threshold=1, needs_proof=False), DOWN) as payer:
        met_it = await payer.claim()
        await stage.reaches(met_it, ClaimState.WAITING, retry_count=1)
        waiting = [await payer.claim() for _ in range(3)]
        rows = [await stage.reaches(claim, ClaimState.WAITING, retry_count=0) for claim in waiting]
        await stage.pass_until(min(row.next_retry_time for row in rows if row.next_retry_time))
        again = await eventually(lambda: _opened_again(payer), "the trial to fail")
        assert again.next_try_at
        assert again.next_try_at - again.changed_at >= timedelta(minutes=10)
        assert len(payer.sent) == 2

        payer.answer = Accepted("P-1")
        await payer.all_accepted([*waiting, met_it])
        assert (await payer.status()).state is PayerState.CLOSED


async def _opened_again(payer: Payer) -> PayerStatus | None:
    status = await payer.status()
    return status if status.openings == 2 else None


async def test_refused_credentials_are_one_incident_and_resume_lets_all_go(stage: Stage) -> None:
    async with working(stage, "login", PayerLimits(per_minute=600), DENIED) as payer:
        refused = await payer.claim()
        incident = await stage.incident(refused)
        assert f"reenvio payer resume {payer.id}" in incident.value["errorMessage"]
        others = [await payer.claim() for _ in range(3)]
        for claim in others:
            await stage.reaches(claim, ClaimState.WAITING, retry_count=0)
        assert payer.sent == [refused.id.value]

        payer.answer = Accepted("P-1")
        await payer.orders.resume(payer.id, await stage.clock.now())
        await stage.mend(refused, incident)
        await payer.all_accepted([*others, refused])
        assert sorted(payer.sent) == sorted([refused.id.value, *(c.id.value for c in [refused, *others])])
        assert stage.records.of_instance(others[0].instance, "INCIDENT", "CREATED") == []


async def test_people_see_and_steer_payers_from_the_command_line(
    stage: Stage, broker_config: engine.EngineConfig
) -> None:
    async with working(stage, "steered", PayerLimits(needs_proof=False), Accepted("P-1")) as payer:
        await stage.reaches(await payer.claim(), ClaimState.ACCEPTED)
        environment = os.environ | {
            "ENGINE_HOME": str(broker_config.home),
            "DATABASE_URL": stage.settings.database,
            "ZEEBE_ADDRESS": "",
            "COLUMNS": "300",
        }

        async def reenvio(*arguments: str) -> tuple[str, int | None]:
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "workers.cli", "payer", *arguments),
                env=environment,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            return (await child.communicate())[0].decode(), child.returncode

        said, code = await reenvio("pause", payer.id, "--reason", "month's end")
        assert (code, "is paused until you resume it" in said) == (0, True)
        held = await payer.claim()
        await stage.reaches(held, ClaimState.WAITING)
        assert payer.id in (await reenvio("list"))[0]
        assert "month's end" in (await reenvio("show", payer.id))[0]
        refused, code = await reenvio("trip", payer.id)  # claims wait, and nobody says yes
        assert (code, "1 claims wait" in refused) == (1, True)
        assert (await reenvio("resume", payer.id))[1] == 0
        await payer.all_accepted([held])
        assert "has no service to ask" in (await reenvio("probe", payer.id))[0]
        payer.answer = DENIED
        await payer.claim()
        await payer.reaches(PayerState.STOPPED)
        said, code = await reenvio("trip", payer.id, "--yes")
        assert (code, "stays stopped" in said, f"payer resume {payer.id}" in said) == (1, True, True)
        assert (await payer.status()).state is PayerState.STOPPED
        said, code = await reenvio("resume", "nobody-knows")
        assert (code, "Traceback" in said, "payer list" in said) == (1, False, True)
