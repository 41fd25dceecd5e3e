"""What a clock that was ahead has put on lease ends, once it is right, no later than a lease of now."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from domain.payer_status import PayerLimits
from domain.verdicts import Candidate, Go
from persistence.store import Store, Transaction
from tests.security.two_processes import CLOSE, FIRST, PAYER, QUICK, SEND, Desk
from tests.support.builders import NOW
from workers.jobs.once import LEASE_MARGIN
from workers.payers.admission import Admission, locked
from workers.runtime import Job, Outcome, Postpone
from workers.upkeep.relay import LEASE

HOURS, YEARS = timedelta(hours=3), timedelta(days=3650)
LENGTH = timedelta(seconds=30)
RIGHT = NOW + timedelta(minutes=30)
"""When the clock was set right: every lease of a right clock would be over."""
SECOND = timedelta(seconds=1)
ahead_by = pytest.mark.parametrize("ahead", [HOURS, YEARS], ids=["hours", "years"])


async def died_while_ahead(store: Store, ahead: timedelta) -> tuple[Desk, Job]:
    """A send that a worker, now gone, began while the clock was ahead; the desk after that was set right."""
    before = Desk(store, moment=NOW + ahead)
    job = before.job(SEND, FIRST, retryCount=0)
    (await before.begin(job)).cancel()
    after = Desk(store, moment=RIGHT)
    after.keys = before.keys
    return after, job


def waits(outcome: Outcome) -> timedelta:
    assert isinstance(outcome, Postpone), outcome
    return outcome.backoff


def said(logs: Sequence[Mapping[str, object]]) -> list[object]:
    return [entry["lease"] for entry in logs if entry["event"] == "lease_from_wrong_clock"]


@ahead_by
async def test_the_same_job_goes_on_after_its_operations_own_lease(store: Store, ahead: timedelta) -> None:
    desk, job = await died_while_ahead(store, ahead)
    longest = desk.handlers[SEND].time_limit + LEASE_MARGIN
    with capture_logs() as logs:
        first = waits(await desk.do(job))
        again = waits(await desk.do(job))
    assert (first, again) == (longest + SECOND, longest + SECOND)
    assert said(logs) == ["submit_claim"]


@ahead_by
@pytest.mark.parametrize("kind_of_job", ["another send", "an end"])
async def test_another_job_of_the_claim_goes_on_after_a_sends_own_time(
    store: Store, ahead: timedelta, kind_of_job: str
) -> None:
    desk, _ = await died_while_ahead(store, ahead)
    ending = desk.job(CLOSE, FIRST, outcome="CANCELLED")
    job = ending if kind_of_job == "an end" else desk.job(SEND, FIRST, retryCount=1)
    with capture_logs() as logs:
        assert waits(await desk.do(job)) == QUICK.lease + SECOND
        desk.moment = RIGHT + QUICK.lease
        task = await desk.until_sent(job)
    assert said(logs) == ["send"]
    assert not (task.done() and isinstance(task.result(), Postpone))
    task.cancel()


@ahead_by
async def test_a_payers_places_are_free_again_after_a_sends_own_time(store: Store, ahead: timedelta) -> None:
    limits = PayerLimits(per_minute=None, at_once=1, needs_proof=False)

    async def admitted(tx: Transaction, minutes: float) -> Admission:
        payer = await locked(tx, PAYER, limits, RIGHT + timedelta(minutes=minutes))
        return await payer.admit(Candidate("CLM-D-2", PAYER))

    until = NOW + ahead + limits.lease
    await store.run(lambda tx: tx.payers.send_began("CLM-D-1", 1, PAYER, until=until))
    with capture_logs() as logs:
        first = await store.run(lambda tx: admitted(tx, 0))
        later = await store.run(lambda tx: admitted(tx, limits.lease / timedelta(minutes=1) + 60))
    assert not isinstance(first.verdict, Go)
    assert isinstance(later.verdict, Go)
    assert said(logs) == ["send"]


async def test_a_worker_that_read_its_clock_a_moment_before_another_calls_nobodys_clock_wrong(
    store: Store,
) -> None:
    limits = PayerLimits(per_minute=None, at_once=1, needs_proof=False)
    until = NOW + SECOND + limits.lease
    await store.run(lambda tx: tx.payers.send_began("CLM-D-1", 1, PAYER, until=until))

    async def asked(tx: Transaction) -> Admission:
        return await (await locked(tx, PAYER, limits, NOW)).admit(Candidate("CLM-D-2", PAYER))

    with capture_logs() as logs:
        await store.run(asked)
        running = await store.run(lambda tx: tx.payers.send_under_way("CLM-D-1", now=NOW))
    assert (said(logs), running) == ([], until)


@ahead_by
async def test_another_relay_carries_after_the_lease_of_one_that_is_gone(
    store: Store, ahead: timedelta
) -> None:
    async def takes(name: str, now: timedelta) -> bool:
        return await store.run(lambda tx: tx.leases.take(LEASE, name, now=NOW + now, length=LENGTH))

    assert await takes("gone", ahead)
    with capture_logs() as logs:
        taken = [await takes("other", timedelta(seconds=seconds)) for seconds in (0, 10, 31)]
    assert taken == [False, False, True]
    assert said(logs) == [LEASE]


async def test_a_lease_of_a_right_clock_is_left_as_it_is(store: Store) -> None:
    desk = Desk(store)
    job = desk.job(SEND, FIRST, retryCount=0)
    task = await desk.begin(job)
    other = desk.job(SEND, FIRST, retryCount=1)
    desk.moment = NOW + SECOND
    with capture_logs() as logs:
        assert waits(await desk.do(job)) == desk.handlers[SEND].time_limit + LEASE_MARGIN
        assert waits(await desk.do(other)) == QUICK.lease
    assert said(logs) == []
    task.cancel()
