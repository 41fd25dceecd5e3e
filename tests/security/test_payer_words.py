"""Words of payers and models are kept encrypted, for a short time; whoever reads them is noted."""

import asyncio
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.retention import Periods
from domain.submission import Failed, SendResult, Submission
from persistence.encryption.keys import cipher_of, new_key
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.command_line import environment
from tests.support.patients import dump
from tests.support.services import services
from tests.support.terminal import Terminal, terminal
from workers.jobs import all_handlers
from workers.jobs.services import Services
from workers.runtime import Job
from workers.runtime.outcome import Incident, Outcome, Throw
from workers.upkeep.retention import apply

__all__ = ["terminal"]
CLAIM, SAID = "CLM-W-1", "Beneficiária MARIA DA SILVA sem cobertura"
KEY = new_key("k1")


class TalkativePayer:
    """Says why, in its own words."""

    async def send(self, _submission: Submission, _now: datetime) -> SendResult:
        return Failed(SAID, "TISS:1009", refused=True)


class Noon:
    """Always the same time."""

    async def now(self) -> datetime:
        return NOW


@pytest.fixture
def at_work(store: Store) -> Services:
    return services(store, payer=TalkativePayer(), clock=Noon(), cipher=cipher_of(KEY))


async def run(at_work: Services, job_type: str, **variables: object) -> Outcome:
    handler = next(one for one in all_handlers(at_work) if one.type == job_type)
    given = {"claimId": CLAIM, "payerId": "p"} | variables
    return await handler.handle(Job(1, job_type, "Task", 1, 3, {}, given))


async def kept(store: Store) -> list[tuple[str, str]]:
    async with store.reading() as tx:
        texts = await tx.free_texts.of_claim(CLAIM)
    return [(text.source, text.opened(cipher_of(KEY))) for text in texts]


async def test_what_a_payer_says_is_kept_for_people_and_told_by_its_code(at_work: Services) -> None:
    told = await run(at_work, "submit-claim")
    assert isinstance(told, Throw)
    assert told.variables["submissionError"] == "INSURANCE_EXPIRED (TISS:1009)"
    assert told.variables["submissionErrorCode"] == "TISS:1009"
    assert await kept(at_work.store) == [("payer", SAID)]


async def test_what_a_model_says_is_kept_for_people_too(at_work: Services) -> None:
    told = await run(at_work, "retry-submission-backoff", submissionError=SAID)
    assert isinstance(told, Throw)
    assert told.variables["submissionError"] == "NOT_COVERED (SEM_COBERTURA)"
    assert await kept(at_work.store) == [("model", SAID)]


@pytest.mark.parametrize("error", ["TIMEOUT", "TIMEOUT - no answer in time after the message had left"])
async def test_our_own_words_are_kept_nowhere_else(at_work: Services, error: str) -> None:
    given = {"submissionError": error, "submissionErrorCode": "NET:READ_TIMEOUT"}
    await run(at_work, "retry-submission-backoff", **given)
    again = {"submissionError": "TIMEOUT (NET:READ_TIMEOUT)", "retryCount": 1}
    await run(at_work, "retry-submission-backoff", **again)
    assert [text for _, text in await kept(at_work.store)] == ([error] if error == "TIMEOUT" else [])


async def test_without_a_key_the_words_are_not_kept_at_all(store: Store, database: AsyncEngine) -> None:
    plain = services(store, payer=TalkativePayer(), clock=Noon())
    await run(plain, "submit-claim")
    assert "MARIA" not in await dump(database)


async def test_the_words_go_after_their_own_short_period(at_work: Services) -> None:
    await run(at_work, "submit-claim")
    await apply(at_work.store, Periods(), NOW + timedelta(days=29))
    assert len(await kept(at_work.store)) == 1
    removed = await apply(at_work.store, Periods(), NOW + timedelta(days=31))
    assert removed["words of payers and models"] == 1
    assert await kept(at_work.store) == []


@pytest.mark.parametrize("name", ["claimId", "payerId", "reviewReason", "protocolNumber"])
@pytest.mark.parametrize("value", ["Maria da Silva", "529.982.247-25", "CLM-é-1", "CLM-529.982.247-25", ""])
@pytest.mark.parametrize("job_type", ["submit-claim", "open-review", "notify", "close-claim"])
@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_every_job_checks_the_shape_of_ids_and_names_the_variable_alone(
    at_work: Services, job_type: str, name: str, value: str
) -> None:
    told = await run(at_work, job_type, **{name: value})
    assert isinstance(told, Incident)
    assert name in told.message
    assert "Operate" in told.message
    assert not value or value not in told.message


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_an_id_with_a_persons_number_is_decided_about_under_a_keyed_one(
    at_work: Services, database: AsyncEngine
) -> None:
    claim = "CLM-001-52998224725"
    await run(at_work, "retry-submission-backoff", claimId=claim, submissionError="TIMEOUT")
    everything = await dump(database)
    assert "52998224725" not in everything
    assert "CLM-H-" in everything


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_whoever_reads_the_words_is_in_the_journal_before_they_are_shown(
    at_work: Services, terminal: Terminal
) -> None:
    await run(at_work, "submit-claim")
    _, shown, _ = await terminal.run("claim", "show", CLAIM, ENCRYPTION_KEYS=KEY)
    assert f"`reenvio claim words {CLAIM}`" in shown
    assert "MARIA" not in shown
    code, told, _ = await terminal.run("claim", "words", CLAIM, ENCRYPTION_KEYS=KEY)
    assert (code, SAID in told) == (2, False)  # nobody said why
    why = ("--reason", "to correct the card")
    code, told, _ = await terminal.run("claim", "words", CLAIM, *why, ENCRYPTION_KEYS=KEY)
    assert (code, SAID in told) == (0, True)
    async with at_work.store.reading() as tx:
        last, [order] = (await tx.journal.of_claim(CLAIM))[-1], await tx.orders.about_claim(CLAIM)
    assert (last.event, order.action, order.reason) == ("ordered", "words", "to correct the card")


MACHINE_YEARS_AHEAD = """
from datetime import timedelta
from gateways.clock import WallClock

right = WallClock.now

async def now(self):
    return await right(self) + timedelta(days=3650)

WallClock.now = now
from workers.cli import main
main()
"""


async def test_whoever_reads_the_words_is_noted_by_the_clock_that_all_share(
    at_work: Services, url: str, tmp_path: Path
) -> None:
    """A machine that is years ahead would else put the end of the claim's chain where retention passes by."""
    await run(at_work, "submit-claim")
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", MACHINE_YEARS_AHEAD, "claim", "words", CLAIM, "--reason", "why"),
        env=environment(tmp_path, DATABASE_URL=url, ENCRYPTION_KEYS=KEY),
    )
    assert await child.wait() == 0
    async with at_work.store.reading() as tx:
        last, now = (await tx.journal.of_claim(CLAIM))[-1], await tx.time()
    assert last.detail.startswith("words by ")
    assert last.at <= now
