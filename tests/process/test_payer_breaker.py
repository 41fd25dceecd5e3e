"""SUB_06 and a payer in trouble, over SOAP: claims are held, not spent, and go out in order."""

import hashlib
from datetime import timedelta
from pathlib import Path

import pytest

from bpmn.names import ProcessId
from domain.claim_state import ClaimState
from domain.payer_status import PayerState, PayerStatus
from gateways.practice.simulator.scenario import FaultAnswer, Http, Outage, PayerScenario, Rule
from gateways.tiss.names import FaultWord
from gateways.zeebe import engine
from tests.process.hospital import environment_of
from tests.process.hospital import reenvio as command_line
from tests.process.payer_line import PASSWORD, Lines, Payer
from tests.process.records import Records
from tests.process.stage import eventually
from tests.support.orders import answered
from tests.support.tiss_samples import PAYER, PROVIDER

WELL = PayerScenario(registro_ans=PAYER)
DOWN = PayerScenario(registro_ans=PAYER, outages=(Outage(end=timedelta(days=99), then=Http(status=503)),))
DENYING = PayerScenario(registro_ans=PAYER, rules=(Rule(then=FaultAnswer(word=FaultWord.WRONG_LOGIN)),))
OUT = "http:503"


def knowing(password: str) -> PayerScenario:
    """A payer that lets us in with this password alone."""
    known = hashlib.md5(password.encode(), usedforsecurity=False).hexdigest()
    return PayerScenario(registro_ans=PAYER, accounts={PROVIDER.value: known})


@pytest.fixture
def lines(broker: engine.RunningEngine, broker_config: engine.EngineConfig, tmp_path: Path) -> Lines:
    return Lines(broker, Records(broker_config.log_file), tmp_path)


async def test_an_outage_costs_those_who_met_it_an_attempt_and_nobody_else(lines: Lines) -> None:
    slow = "requests_per_minute = 3\nbreaker.failures = 2\n"  # slots further apart than the grace
    async with lines.to(DOWN, slow) as payer:
        stage = payer.stage
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

        await payer.line.becomes(WELL)
        await payer.orders.resume(payer.id, await stage.clock.now())
        await payer.all_called(held, before=opened.next_try_at)
        await payer.all_accepted([*held[::-1], *first])

        urgent_first = [claim.id.value for claim in held[::-1]]
        assert [sent for sent in payer.sent if sent in urgent_first] == urgent_first
        assert [await payer.spends(claim) for claim in held] == [1] * 5
        for claim in held:
            assert await stage.events(claim) == ["received", "payer_unavailable", "accepted"]
            assert (await stage.ended(claim))[-1] == "End_ClaimAccepted"
        assert [payer.verdicts(claim) for claim in first] == [[OUT, "taken"]] * 2
        assert [payer.verdicts(claim) for claim in held] == [["taken"]] * 5


async def test_a_payer_that_recovers_is_found_by_a_single_claim(lines: Lines) -> None:
    async with lines.to(DOWN, "breaker.failures = 1\n") as payer:
        stage = payer.stage
        met_it = await payer.claim()
        await stage.reaches(met_it, ClaimState.WAITING, retry_count=1)
        waiting = [await payer.claim() for _ in range(3)]
        rows = [await stage.reaches(claim, ClaimState.WAITING, retry_count=0) for claim in waiting]
        await stage.pass_until(min(row.next_retry_time for row in rows if row.next_retry_time))
        again = await eventually(lambda: _opened_again(payer), "the trial to fail")
        assert again.next_try_at
        assert again.next_try_at - again.changed_at >= timedelta(minutes=10)
        assert len(payer.sent) == 2

        await payer.line.becomes(WELL)
        await payer.all_accepted([*waiting, met_it])
        assert (await payer.status()).state is PayerState.CLOSED
        assert [entry.verdict for entry in payer.sends] == [OUT, OUT, *["taken"] * 4]
        assert {*payer.line.ledger.times_taken().values()} == {1}


async def _opened_again(payer: Payer) -> PayerStatus | None:
    status = await payer.status()
    return status if status.openings == 2 else None


async def test_refused_credentials_are_one_incident_and_resume_lets_all_go(lines: Lines) -> None:
    login = f'login = "{PROVIDER.value}"\npassword_env = "PAYER_PASSWORD"\nrequests_per_minute = 600\n'
    async with lines.to(knowing("another"), login) as payer:
        stage = payer.stage
        refused = await payer.claim()
        incident = await stage.incident(refused)
        assert f"reenvio payer resume {payer.id}" in incident.value["errorMessage"]
        others = [await payer.claim() for _ in range(3)]
        for claim in others:
            await stage.reaches(claim, ClaimState.WAITING, retry_count=0)
        assert payer.sent == [refused.id.value]

        await payer.line.becomes(knowing(PASSWORD))
        await payer.orders.resume(payer.id, await stage.clock.now())
        await stage.mend(refused, incident)
        await payer.all_accepted([*others, refused])
        assert sorted(payer.sent) == sorted([refused.id.value, *(c.id.value for c in [refused, *others])])
        assert stage.records.of_instance(others[0].instance, "INCIDENT", "CREATED") == []
        assert payer.verdicts(refused) == ["fault:LoginInvalido", "taken"]
        assert [payer.verdicts(claim) for claim in others] == [["taken"]] * 3


async def test_people_see_and_steer_payers_from_the_command_line(
    lines: Lines, broker_config: engine.EngineConfig
) -> None:
    async with lines.to(WELL) as payer:
        stage = payer.stage
        accepted = await payer.claim()
        await stage.reaches(accepted, ClaimState.ACCEPTED)
        environment = {**environment_of(stage.settings, broker_config.home), "COLUMNS": "300"}

        async def reenvio(*arguments: str) -> tuple[str, int]:
            code, said = await command_line(environment, *answered("payer", *arguments))
            return said, code

        said, code = await reenvio("pause", payer.id, "--reason", "month's end")
        assert (code, "is paused until you resume it" in said) == (0, True)
        held = await payer.claim()
        await stage.reaches(held, ClaimState.WAITING)
        assert payer.id in (await reenvio("list"))[0]
        assert "month's end" in (await reenvio("show", payer.id))[0]
        unconfirmed = ("payer", "trip", payer.id, "--reason", "claims wait, and nobody says yes")
        code, refused = await command_line(environment, *unconfirmed)
        assert (code, "1 claim waiting" in refused) == (2, True)
        assert (payer.sent, payer.verdicts(accepted)) == ([accepted.id.value], ["taken"])
        assert (await reenvio("resume", payer.id))[1] == 0
        await payer.all_accepted([held])
        assert f"{payer.id} answers; CLOSED." in (await reenvio("probe", payer.id))[0]
        unlisted = await stage.run(ProcessId.SUB_06, payerId="unlisted")
        await stage.reaches(unlisted, ClaimState.IN_REVIEW)
        assert "unlisted has no service to ask" in (await reenvio("probe", "unlisted"))[0]
        await payer.line.becomes(DENYING)
        denied = await payer.claim()
        await payer.reaches(PayerState.STOPPED)
        said, code = await reenvio("trip", payer.id, "--yes")
        assert (code, "stays stopped" in said, f"payer resume {payer.id}" in said) == (1, True, True)
        assert (await payer.status()).state is PayerState.STOPPED
        said, code = await reenvio("resume", "nobody-knows")
        assert (code, "Traceback" in said, "payer list" in said) == (1, False, True)
        assert payer.verdicts(held) == ["taken"]
        assert payer.verdicts(denied) == ["fault:LoginInvalido"]
