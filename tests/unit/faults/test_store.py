"""The job store keeps Zeebe's rules about locks, retries and ends."""

from datetime import timedelta

import grpc
import pytest

from tests.support.faults.jobs import RejectedError, StoredJob, Terms
from tests.support.faults.ledger import End, Ledger
from tests.support.faults.store import JobStore

TERMS = Terms("worker", timedelta(seconds=10), ())


class Desk:
    """A store on a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.ledger = Ledger()
        self.announced: list[int] = []
        self.store = JobStore(lambda: self.now, self.ledger, lambda job: self.announced.append(job.key))

    def take(self, limit: int = 10) -> list[StoredJob]:
        return self.store.take("a", limit, TERMS)

    def passes(self, seconds: float) -> None:
        self.now += seconds
        self.store.tick()

    def fail(self, key: int, retries: int, backoff: float = 0.0) -> None:
        self.store.fail(key, retries=retries, backoff=timedelta(seconds=backoff), message="why")


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_jobs_are_taken_once_in_the_order_they_came_and_by_type(desk: Desk) -> None:
    keys = [desk.store.create("a", {}) for _ in range(3)]
    desk.store.create("b", {})
    assert [job.key for job in desk.take(2)] == keys[:2]
    assert [job.key for job in desk.take()] == keys[2:]
    assert desk.take() == []


def test_a_lock_that_ends_gives_the_job_again_and_costs_no_retry(desk: Desk) -> None:
    key = desk.store.create("a", {}, retries=3)
    desk.take()
    desk.passes(9.9)
    assert desk.take() == []
    desk.passes(0.1)
    assert [(job.key, job.retries) for job in desk.take()] == [(key, 3)]
    assert (desk.ledger.stories[key].deliveries, desk.ledger.redeliveries, desk.ledger.expiries) == (2, 1, 1)


def test_an_extended_lock_counts_from_now(desk: Desk) -> None:
    key = desk.store.create("a", {})
    desk.take()
    desk.passes(9)
    desk.store.extend(key, timedelta(seconds=10))
    desk.passes(9.9)
    assert desk.take() == []
    desk.passes(0.1)
    assert len(desk.take()) == 1


def test_an_early_expiry_replaces_the_agreed_lock(desk: Desk) -> None:
    desk.store.create("a", {})
    [job] = desk.take()
    desk.store.expire(job, timedelta())
    desk.passes(0)
    assert desk.take() == [job]


def test_a_failed_job_with_retries_comes_back_at_once_or_after_its_backoff(desk: Desk) -> None:
    key = desk.store.create("a", {})
    desk.take()
    desk.fail(key, retries=2)
    [again] = desk.take()
    assert again.retries == 2
    desk.fail(key, retries=1, backoff=5)
    desk.passes(4.9)
    assert desk.take() == []
    desk.passes(0.1)
    assert len(desk.take()) == 1


def test_a_failed_job_without_retries_is_an_incident_that_nobody_gets(desk: Desk) -> None:
    key = desk.store.create("a", {})
    desk.take()
    desk.fail(key, retries=0)
    desk.passes(1_000)
    assert desk.take() == []
    assert desk.ledger.stories[key].end is End.INCIDENT
    assert desk.store.open_jobs() == []


def test_a_late_report_still_settles_a_job_that_waits_again(desk: Desk) -> None:
    key = desk.store.create("a", {})
    desk.take()
    desk.passes(10)
    desk.store.complete(key)
    assert desk.take() == []
    assert desk.ledger.stories[key].end is End.COMPLETED


def test_a_settled_job_is_not_found(desk: Desk) -> None:
    key = desk.store.create("a", {})
    desk.take()
    desk.store.throw(key, "CODE")
    assert (desk.ledger.stories[key].end, desk.ledger.stories[key].detail) == (End.THROWN, "CODE")
    with pytest.raises(RejectedError) as refused:
        desk.store.complete(key)
    assert refused.value.status is grpc.StatusCode.NOT_FOUND


def test_a_job_that_backs_off_takes_no_reports(desk: Desk) -> None:
    key = desk.store.create("a", {})
    desk.take()
    desk.fail(key, retries=1, backoff=5)
    with pytest.raises(RejectedError) as refused:
        desk.store.complete(key)
    assert refused.value.status is grpc.StatusCode.FAILED_PRECONDITION


def test_only_an_activated_job_can_be_extended(desk: Desk) -> None:
    key = desk.store.create("a", {})
    with pytest.raises(RejectedError):
        desk.store.extend(key, timedelta(seconds=1))


def test_every_way_to_become_activatable_is_announced(desk: Desk) -> None:
    key = desk.store.create("a", {})
    [job] = desk.take()
    desk.passes(10)
    desk.take()
    desk.fail(key, retries=1)
    desk.take()
    desk.store.give_back(job)
    assert desk.announced == [key] * 4


def test_the_ledger_knows_the_time_from_creation_to_end(desk: Desk) -> None:
    key = desk.store.create("a", {})
    desk.take()
    desk.passes(3)
    desk.store.complete(key)
    assert desk.ledger.stories[key].seconds == 3
    desk.ledger.forget_ended()
    assert (desk.ledger.stories, desk.ledger.ended) == ({}, 1)
