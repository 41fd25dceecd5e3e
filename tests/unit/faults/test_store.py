"""The job store keeps Zeebe's rules about locks, retries and ends."""

from datetime import timedelta

import grpc
import pytest

from tests.support.faults.jobs import RejectedError, StoredJob, Terms
from tests.support.faults.ledger import End, Ledger
from tests.support.faults.store import JobStore

TERMS = Terms("worker", timedelta(seconds=10), ())


class StoreOnClock:
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
def jobs() -> StoreOnClock:
    return StoreOnClock()


def test_jobs_are_taken_once_in_the_order_they_came_and_by_type(jobs: StoreOnClock) -> None:
    keys = [jobs.store.create("a", {}) for _ in range(3)]
    jobs.store.create("b", {})
    assert [job.key for job in jobs.take(2)] == keys[:2]
    assert [job.key for job in jobs.take()] == keys[2:]
    assert jobs.take() == []


def test_a_lock_that_ends_gives_the_job_again_and_costs_no_retry(jobs: StoreOnClock) -> None:
    key = jobs.store.create("a", {}, retries=3)
    jobs.take()
    jobs.passes(9.9)
    assert jobs.take() == []
    jobs.passes(0.1)
    assert [(job.key, job.retries) for job in jobs.take()] == [(key, 3)]
    assert (jobs.ledger.stories[key].deliveries, jobs.ledger.redeliveries, jobs.ledger.expiries) == (2, 1, 1)


def test_an_extended_lock_counts_from_now(jobs: StoreOnClock) -> None:
    key = jobs.store.create("a", {})
    jobs.take()
    jobs.passes(9)
    jobs.store.extend(key, timedelta(seconds=10))
    jobs.passes(9.9)
    assert jobs.take() == []
    jobs.passes(0.1)
    assert len(jobs.take()) == 1


def test_an_early_expiry_replaces_the_agreed_lock(jobs: StoreOnClock) -> None:
    jobs.store.create("a", {})
    [job] = jobs.take()
    jobs.store.expire(job, timedelta())
    jobs.passes(0)
    assert jobs.take() == [job]


def test_a_failed_job_with_retries_comes_back_at_once_or_after_its_backoff(jobs: StoreOnClock) -> None:
    key = jobs.store.create("a", {})
    jobs.take()
    jobs.fail(key, retries=2)
    [again] = jobs.take()
    assert again.retries == 2
    jobs.fail(key, retries=1, backoff=5)
    jobs.passes(4.9)
    assert jobs.take() == []
    jobs.passes(0.1)
    assert len(jobs.take()) == 1


def test_a_failed_job_without_retries_is_an_incident_that_nobody_gets(jobs: StoreOnClock) -> None:
    key = jobs.store.create("a", {})
    jobs.take()
    jobs.fail(key, retries=0)
    jobs.passes(1_000)
    assert jobs.take() == []
    assert jobs.ledger.stories[key].end is End.INCIDENT
    assert jobs.store.open_jobs() == []


def test_a_late_report_still_settles_a_job_that_waits_again(jobs: StoreOnClock) -> None:
    key = jobs.store.create("a", {})
    jobs.take()
    jobs.passes(10)
    jobs.store.complete(key)
    assert jobs.take() == []
    assert jobs.ledger.stories[key].end is End.COMPLETED


def test_a_settled_job_is_not_found(jobs: StoreOnClock) -> None:
    key = jobs.store.create("a", {})
    jobs.take()
    jobs.store.throw(key, "CODE")
    assert (jobs.ledger.stories[key].end, jobs.ledger.stories[key].detail) == (End.THROWN, "CODE")
    with pytest.raises(RejectedError) as refused:
        jobs.store.complete(key)
    assert refused.value.status is grpc.StatusCode.NOT_FOUND


def test_a_job_that_backs_off_takes_no_reports(jobs: StoreOnClock) -> None:
    key = jobs.store.create("a", {})
    jobs.take()
    jobs.fail(key, retries=1, backoff=5)
    with pytest.raises(RejectedError) as refused:
        jobs.store.complete(key)
    assert refused.value.status is grpc.StatusCode.FAILED_PRECONDITION


def test_only_an_activated_job_can_be_extended(jobs: StoreOnClock) -> None:
    key = jobs.store.create("a", {})
    with pytest.raises(RejectedError):
        jobs.store.extend(key, timedelta(seconds=1))


def test_every_way_to_become_activatable_is_announced(jobs: StoreOnClock) -> None:
    key = jobs.store.create("a", {})
    [job] = jobs.take()
    jobs.passes(10)
    jobs.take()
    jobs.fail(key, retries=1)
    jobs.take()
    jobs.store.give_back(job)
    assert jobs.announced == [key] * 4


def test_the_ledger_knows_the_time_from_creation_to_end(jobs: StoreOnClock) -> None:
    key = jobs.store.create("a", {})
    jobs.take()
    jobs.passes(3)
    jobs.store.complete(key)
    assert jobs.ledger.stories[key].seconds == 3
    jobs.ledger.forget_ended()
    assert (jobs.ledger.stories, jobs.ledger.ended) == ({}, 1)


def test_a_long_run_can_forget_what_has_ended_also_incidents(jobs: StoreOnClock) -> None:
    ended, still_open = jobs.store.create("a", {}), jobs.store.create("a", {})
    jobs.take()
    jobs.fail(ended, retries=0)
    jobs.store.forget_ended()
    assert list(jobs.ledger.stories) == [job.key for job in jobs.store.open_jobs()] == [still_open]
    with pytest.raises(RejectedError) as rejected:
        jobs.store.complete(ended)
    assert rejected.value.status is grpc.StatusCode.NOT_FOUND
