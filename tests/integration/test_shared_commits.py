"""Sends of one moment share their commits, and nothing else: each has its own answer and its own fault."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim_state import ClaimState
from domain.payer_status import PayerLimits
from domain.submission import Accepted, Failed, SendResult, Submission
from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.payloads import seal_payload
from persistence.store import Store
from tests.support.builders import NOW, draft
from tests.support.payer_stage import DOWN, PAYER, Scene
from workers.payers.places import SLOTS
from workers.runtime import Complete, Incident, Job, JobHandler, Outcome, Postpone, Throw

CLAIMS = range(1, 9)
CLAIMS_BEGIN_AND_END = 2
STATEMENTS = {"sqlite": 26, "postgresql": 29}
"""Of both commits, as docs/performance.md says."""


@pytest.fixture
def scene(store: Store) -> Scene:
    return Scene(store, PayerLimits(per_minute=None, at_once=32, needs_proof=False))


@contextmanager
def commits(database: AsyncEngine) -> Iterator[list[object]]:
    """The commits of a block."""
    made: list[object] = []

    def commit(connection: object) -> None:
        made.append(connection)

    event.listen(database.sync_engine, "commit", commit)
    yield made
    event.remove(database.sync_engine, "commit", commit)


def job(number: int) -> Job:
    given = {"claimId": f"CLM-D-{number}", "payerId": PAYER}
    return Job(number, "submit-claim", "Task_SubmitClaim", number, 3, {}, given)


async def submitted(handler: JobHandler, numbers: range = CLAIMS) -> list[Outcome]:
    return list(await asyncio.gather(*(handler.handle(job(number)) for number in numbers)))


async def test_sends_of_one_moment_begin_and_end_in_two_commits(scene: Scene, database: AsyncEngine) -> None:
    handler = scene.handler("submit-claim")
    with commits(database) as made:
        told = await submitted(handler)
    assert told == [Complete({"protocolNumber": "P-1"})] * len(CLAIMS)
    assert len(made) == CLAIMS_BEGIN_AND_END
    assert await submitted(handler) == told  # from the records
    assert sorted(scene.sent) == sorted(f"CLM-D-{number}" for number in CLAIMS)
    async with scene.store.reading() as tx:
        assert await tx.payers.in_flight(PAYER, now=NOW) == 0
        for number in CLAIMS:
            claim = await tx.claims.find(f"CLM-D-{number}")
            assert claim
            assert (claim.state, claim.protocol_number) == (ClaimState.ACCEPTED, "P-1")
            assert [one.event for one in await tx.journal.of_claim(claim.claim_id)] == ["accepted"]


async def test_sends_that_share_a_commit_take_as_many_statements_as_one_alone(
    scene: Scene, database: AsyncEngine
) -> None:
    handler = scene.handler("submit-claim")
    await submitted(handler, range(100, 101))  # from now on the payer is known
    with statements(database) as of_one:
        await submitted(handler, range(1, 2))
    with statements(database) as of_many:
        await submitted(handler, range(2, 10))
    assert [begins(one) for one in of_many] == [begins(one) for one in of_one]
    asked = [one for one in of_one if not one.startswith("BEGIN")]
    assert len(asked) == STATEMENTS[database.dialect.name]


@contextmanager
def statements(database: AsyncEngine) -> Iterator[list[str]]:
    """What the database is asked in a block."""
    asked: list[str] = []

    def ask(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    event.listen(database.sync_engine, "before_cursor_execute", ask)
    yield asked
    event.remove(database.sync_engine, "before_cursor_execute", ask)


def begins(statement: str) -> str:
    """As far as it does not depend on how many share it."""
    return statement[:40]


async def test_a_job_that_stops_waiting_for_a_shared_commit_spoils_no_other(
    scene: Scene, database: AsyncEngine
) -> None:
    handler = scene.handler("submit-claim")
    jobs = [asyncio.ensure_future(handler.handle(job(number))) for number in CLAIMS]

    def stop_waiting(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO submission_attempts"):
            jobs[2].cancel()

    event.listen(database.sync_engine, "before_cursor_execute", stop_waiting)
    told = await asyncio.gather(*jobs, return_exceptions=True)
    event.remove(database.sync_engine, "before_cursor_execute", stop_waiting)
    await handler.finish()
    assert isinstance(told.pop(2), asyncio.CancelledError)
    assert told == [Complete({"protocolNumber": "P-1"})] * (len(CLAIMS) - 1)
    assert "CLM-D-3" not in scene.sent
    assert isinstance(await handler.handle(job(3)), Postpone)  # its send may be under way, for all we know
    scene.moment = NOW + scene.limits.lease + timedelta(seconds=1)
    assert await handler.handle(job(3)) == Complete({"protocolNumber": "P-1"})
    assert sorted(scene.sent) == sorted(f"CLM-D-{number}" for number in CLAIMS)


REFUSED = Failed("Guia invalida: favor corrigir o beneficiario", "TISS:1009", refused=True)


async def test_sends_that_are_refused_in_the_payers_own_words_share_them_too(
    scene: Scene, database: AsyncEngine
) -> None:
    scene.answer = REFUSED
    with commits(database) as made:
        told = await submitted(scene.handler("submit-claim"))
    assert {type(one) for one in told} == {Throw}
    assert len(made) == CLAIMS_BEGIN_AND_END
    async with scene.store.reading() as tx:
        assert [await tx.free_texts.count(f"CLM-D-{number}") for number in CLAIMS] == [1] * len(CLAIMS)


async def test_an_answer_is_written_also_when_the_payers_words_cannot_be_kept(
    scene: Scene, database: AsyncEngine
) -> None:
    scene.answer = REFUSED
    async with database.begin() as connection:
        await connection.execute(text("DROP TABLE claim_texts"))
    with commits(database) as made:
        told = await submitted(scene.handler("submit-claim"))
    assert {type(one) for one in told} == {Throw}
    assert len(made) == CLAIMS_BEGIN_AND_END
    async with scene.store.reading() as tx:
        sends = await tx.attempts.histories([f"CLM-D-{number}" for number in CLAIMS])
    assert {send.outcome for history in sends.values() for send in history.sends} == {"FAILED"}


async def test_words_that_no_key_can_seal_are_their_own_claims_loss_alone(scene: Scene) -> None:
    scene.answer = replace(REFUSED, error="half a character: \ud800")
    told = await submitted(scene.handler("submit-claim"))
    assert {type(one) for one in told} == {Throw}
    async with scene.store.reading() as tx:
        assert await tx.free_texts.count("CLM-D-1") == 0


async def test_those_who_wait_are_woken_also_when_the_job_waits_no_more_that_ended_the_outage(
    scene: Scene, database: AsyncEngine
) -> None:
    scene.limits = PayerLimits(per_minute=None, threshold=1, needs_proof=False, at_once=32)
    handler = scene.handler("submit-claim")
    scene.answer = DOWN
    await handler.handle(job(1))
    await submitted(handler, range(10, 14))  # held by the breaker
    scene.moment, scene.answer = NOW + timedelta(minutes=5, seconds=1), Accepted("P-1")
    waiting = asyncio.ensure_future(handler.handle(job(2)))

    def stop_waiting(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("UPDATE submission_attempts"):
            waiting.cancel()

    event.listen(database.sync_engine, "before_cursor_execute", stop_waiting)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await handler.finish()
    assert sorted(scene.woken) == [f"CLM-D-{number}" for number in range(10, 14)]


async def test_an_answer_that_stands_is_told_also_when_nobody_can_be_woken(scene: Scene) -> None:
    scene.limits = PayerLimits(per_minute=None, threshold=1, needs_proof=False, at_once=32)
    scene.answer, scene.trouble = DOWN, ValueError("nobody expects it")
    handler = scene.handler("submit-claim")
    await handler.handle(job(1))
    await submitted(handler, range(10, 14))
    scene.moment, scene.answer = NOW + timedelta(minutes=5, seconds=1), Accepted("P-1")
    assert await handler.handle(job(2)) == Complete({"protocolNumber": "P-1"})


class BusyPayer(Scene):
    """Counts who is there at the same moment; each stays while the others of the moment come."""

    there = most = 0

    async def send(self, submission: Submission, now: datetime) -> SendResult:
        self.there += 1
        self.most = max(self.most, self.there)
        for _ in CLAIMS:
            await asyncio.sleep(0)
        self.there -= 1
        return await super().send(submission, now)


async def test_no_more_go_at_once_than_the_payer_takes_and_the_others_wait_for_a_place_in_the_worker(
    store: Store,
) -> None:
    payer = BusyPayer(store, PayerLimits(per_minute=None, at_once=3, needs_proof=False))
    told = await submitted(payer.handler("submit-claim"))
    assert told == [Complete({"protocolNumber": "P-1"})] * len(CLAIMS)
    assert payer.most == 3


async def test_those_beyond_all_places_and_all_who_wait_for_one_come_again_by_their_timers(
    store: Store,
) -> None:
    payer = BusyPayer(store, PayerLimits(per_minute=None, at_once=1, needs_proof=False))
    told = await submitted(payer.handler("submit-claim"), range(1, SLOTS + 1))
    assert payer.most == 1
    held = [outcome for outcome in told if isinstance(outcome, Throw)]
    waiting = (SLOTS + 1) // 2
    assert len(held) == SLOTS - 1 - waiting
    assert {outcome.code for outcome in held} == {"PAYER_UNAVAILABLE"}


class OfTwoWorkers(BusyPayer):
    """Whose first sends end when another worker has asked for a place in vain and waits to ask again."""

    waits: asyncio.Event

    async def place_pause(self, seconds: float) -> None:
        self.waits.set()
        await asyncio.sleep(seconds)

    async def send(self, submission: Submission, now: datetime) -> SendResult:
        await self.waits.wait()
        return await super().send(submission, now)


async def test_where_another_worker_has_all_places_a_claim_waits_in_the_worker_and_nothing_is_written(
    store: Store, database: AsyncEngine
) -> None:
    payer = OfTwoWorkers(store, PayerLimits(per_minute=None, at_once=3, needs_proof=False))
    payer.waits = asyncio.Event()
    one, other = payer.handler("submit-claim"), payer.handler("submit-claim")
    first = asyncio.create_task(submitted(one, range(1, 4)))
    while len(await under_way(store)) < 3:
        await asyncio.sleep(0)
    with commits(database) as made:
        late = asyncio.create_task(submitted(other, range(4, 7)))
        await payer.waits.wait()
        assert len(made) == 0
    told = await first + await late
    assert told == [Complete({"protocolNumber": "P-1"})] * 6
    assert payer.most <= 3


async def under_way(store: Store) -> Mapping[str, datetime]:
    async with store.reading() as tx:
        return await tx.payers.sends_under_way([f"CLM-D-{number}" for number in range(1, 4)], now=NOW)


async def test_a_file_that_no_key_opens_is_its_own_claims_trouble_alone(scene: Scene) -> None:
    lost: Cipher = cipher_of(new_key("gone"))
    async with scene.store.transaction() as tx:
        await tx.payloads.put("CLM-D-3", seal_payload(lost, "CLM-D-3", b"<lote/>"), now=NOW)
    told = await submitted(scene.handler("submit-claim"))
    assert [number for number, one in zip(CLAIMS, told, strict=True) if isinstance(one, Incident)] == [3]
    assert sorted(scene.sent) == sorted(f"CLM-D-{number}" for number in CLAIMS if number != 3)


async def test_one_claim_that_spoils_a_full_group_puts_off_none_of_the_others(store: Store) -> None:
    scene, many = Scene(store, PayerLimits(per_minute=None, at_once=64, needs_proof=False)), range(1, 65)
    lost: Cipher = cipher_of(new_key("gone"))
    async with store.transaction() as tx:
        await tx.payloads.put("CLM-D-3", seal_payload(lost, "CLM-D-3", b"<lote/>"), now=NOW)
    told = await submitted(scene.handler("submit-claim"), many)
    assert [type(one) for one in told if not isinstance(one, Complete)] == [Incident]


async def test_a_slot_within_the_second_is_waited_for_in_the_worker(scene: Scene) -> None:
    scene.limits = PayerLimits(per_minute=120, at_once=32, needs_proof=False)
    told = await submitted(scene.handler("submit-claim"), range(1, 5))
    assert told[:2] == [Complete({"protocolNumber": "P-1"})] * 2
    assert scene.pauses == [scene.limits.interval.total_seconds()]
    for late in told[2:]:  # a second or more: on a timer
        assert isinstance(late, Throw)
        assert late.code == "PAYER_UNAVAILABLE"
    assert sorted(scene.sent) == ["CLM-D-1", "CLM-D-2"]


async def test_a_send_is_on_record_with_the_moment_at_which_it_leaves(scene: Scene) -> None:
    scene.limits = PayerLimits(per_minute=120, at_once=32, needs_proof=False)
    await submitted(scene.handler("submit-claim"), range(1, 3))
    async with scene.store.reading() as tx:
        sends = await tx.attempts.histories(["CLM-D-1", "CLM-D-2"])
    began = [send.started_at for history in sends.values() for send in history.sends]
    assert began == [NOW, NOW + scene.limits.interval]


async def test_a_stopping_worker_waits_for_decisions_that_nobody_waits_for_any_more(scene: Scene) -> None:
    store, deciding = scene.store, scene.handler("analyze-retry")
    asking = asyncio.create_task(store.record(draft("CLM-1-1")))
    await asyncio.sleep(0)
    asking.cancel()
    await deciding.finish()
    async with store.reading() as tx:
        assert await tx.decisions.count("CLM-1-1") == 1
