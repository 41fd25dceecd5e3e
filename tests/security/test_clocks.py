"""A worker's clock that is wrong harms nobody: what workers share lives by the database's time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy.engine import make_url

from bpmn.names import JobType
from domain.payer_status import PayerLimits
from domain.retention import YEAR
from domain.submission import Failed, SendResult, Submission
from gateways.clock import WallClock
from gateways.engine_clock import EngineClock
from gateways.zeebe.connection import Plaintext
from persistence.store import Store
from tests.support.builders import draft
from tests.support.databases import KEYS
from tests.support.payers_file import payers_file
from workers.app.cluster import Cluster
from workers.app.composition import App, running
from workers.config.settings import PayerFiles, Settings
from workers.jobs import all_handlers
from workers.payers.limits import LimitsByPayer
from workers.payers.waking import Waker
from workers.runtime import Complete, Fail, Job, Outcome

PAYER = "999999"
LIMITS = LimitsByPayer({}, PayerLimits(per_minute=None, threshold=1, needs_proof=False))
SECONDS = timedelta(seconds=30)
NOBODY = Plaintext("127.0.0.1:9")
LOCK = timedelta(minutes=10)
TIMELY = (
    *(JobType.ANCHOR_AUDIT, JobType.APPLY_RETENTION, JobType.CLEAN_IDEMPOTENCY),
    *(JobType.SNAPSHOT_KPIS, JobType.SEND_REPORTS),
)


class Shifted(WallClock):
    """The clock of a machine that is wrong by so much."""

    def __init__(self, by: timedelta) -> None:
        self.by = by

    async def now(self) -> datetime:
        return datetime.now(UTC) + self.by


class MovedEngine(EngineClock):
    """An embedded engine whose clock was moved on by years."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9")

    async def now(self) -> datetime:
        return datetime.now(UTC) + 6 * YEAR


class DownPayer:
    """Never there."""

    async def send(self, _sent: Submission, _now: datetime) -> SendResult:
        return Failed("SERVICE_UNAVAILABLE - 503", "HTTP:503", payer_down=True)


class Site:
    """Workers of one database, each with the clock of its own machine."""

    def __init__(self, url: str, folder: Path) -> None:
        line = f'[payers.{PAYER}]\nendpoint = "http://127.0.0.1:9/"\nversion = "4.03.00"\n'
        files = PayerFiles(file=payers_file(folder, line))
        key = SecretStr(KEYS)
        self.settings = Settings(home=folder, database_url=url, encryption_keys=key, payers=files)

    @asynccontextmanager
    async def worker(self, ahead: timedelta = timedelta()) -> AsyncIterator[App]:
        """A worker on a machine whose clock is so far ahead."""
        async with running(self.settings, Cluster(NOBODY, Shifted(ahead))) as app:
            yield replace(app, payer=DownPayer(), payer_limits=LIMITS)


@pytest.fixture
def site(url: str, tmp_path: Path) -> Site:
    return Site(url, tmp_path)


async def run(app: App, job_type: JobType, number: int = 1, deadline: float | None = None) -> Outcome:
    services = replace(app.services(), waker=Waker(app.store, LIMITS))
    [handler] = [handler for handler in all_handlers(services) if handler.type == job_type]
    given = {"claimId": f"CLM-D-{number}", "payerId": PAYER}
    return await handler.handle(Job(number, job_type, "Task", number, 3, {}, given, deadline=deadline))


@pytest.mark.parametrize("ahead", [timedelta(hours=3), timedelta(hours=-3), timedelta(days=3650)], ids=str)
async def test_a_worker_with_a_wrong_clock_holds_a_payer_no_longer_than_any_other(
    site: Site, ahead: timedelta
) -> None:
    async with site.worker(ahead) as wrong:
        await run(wrong, JobType.SUBMIT_CLAIM)
        async with wrong.store.reading() as tx:
            status = await tx.payers.find(PAYER)
    assert status
    assert status.next_try_at
    assert status.changed_at - datetime.now(UTC) < SECONDS
    assert abs(status.next_try_at - datetime.now(UTC) - LIMITS.of(PAYER).first_wait) < SECONDS


async def test_workers_with_different_clocks_live_by_one(site: Site) -> None:
    async with site.worker() as right, site.worker(timedelta(hours=3)) as wrong:
        assert abs(await right.clock.now() - await wrong.clock.now()) < timedelta(seconds=2)


async def long_kept(store: Store) -> None:
    await store.record(draft(now=datetime.now(UTC) - timedelta(days=3)))


@pytest.mark.parametrize("job_type", TIMELY)
@pytest.mark.parametrize("ahead", [6 * YEAR, timedelta(hours=-3)], ids=["years ahead", "hours behind"])
async def test_maintenance_does_not_run_where_the_machines_clock_is_wrong(
    site: Site, job_type: JobType, ahead: timedelta
) -> None:
    async with site.worker(ahead) as wrong:
        await long_kept(wrong.store)
        outcome = await run(wrong, job_type)
        assert isinstance(outcome, Fail)
        assert "this machine" in outcome.message
        assert "CLOCK_TOLERANCE_SECONDS" in outcome.message
        async with wrong.store.reading() as tx:
            assert [anchor for anchor in await tx.anchors.all() if not anchor.is_beginning] == []
            assert len(await tx.audit.of_claim("CLM-001-1")) > 0


async def test_maintenance_does_not_run_where_the_engine_and_the_database_disagree(site: Site) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1) + LOCK
    async with site.worker() as right:
        await long_kept(right.store)
        outcome = await run(right, JobType.APPLY_RETENTION, deadline=tomorrow.timestamp())
    assert isinstance(outcome, Fail)
    assert "the engine" in outcome.message


@pytest.mark.parametrize("job_type", TIMELY)
async def test_maintenance_does_not_run_by_a_moved_engine_beside_a_database_of_ones_own(
    site: Site, job_type: JobType
) -> None:
    site.settings = site.settings.model_copy(update={"home": site.settings.home / "elsewhere"})
    async with running(site.settings, Cluster(NOBODY, MovedEngine())) as app:
        await long_kept(app.store)
        outcome = await run(app, job_type)
        assert isinstance(outcome, Fail)
        assert "the engine stands apart" in outcome.message
        async with app.store.reading() as tx:
            daily = [anchor for anchor in await tx.anchors.all() if not anchor.is_beginning]
            assert (daily, len(await tx.audit.of_claim("CLM-001-1")) > 0) == ([], True)


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_where_all_is_of_one_home_the_engine_may_be_moved_on(site: Site, url: str) -> None:
    home = Path(str(make_url(url).database)).parent
    site.settings = site.settings.model_copy(update={"home": home})
    async with running(site.settings, Cluster(NOBODY, MovedEngine())) as app:
        assert isinstance(await run(app, JobType.APPLY_RETENTION), Complete)


async def test_a_job_that_waited_for_its_turn_is_no_clock_that_is_wrong(site: Site) -> None:
    about_to_expire = datetime.now(UTC) + timedelta(minutes=1)
    async with site.worker() as right:
        outcome = await run(right, JobType.APPLY_RETENTION, deadline=about_to_expire.timestamp())
    assert isinstance(outcome, Complete)


async def test_maintenance_runs_where_all_clocks_agree(site: Site) -> None:
    soon = datetime.now(UTC) + LOCK
    async with site.worker(timedelta(seconds=20)) as right:
        await long_kept(right.store)
        for job_type in TIMELY:
            assert isinstance(await run(right, job_type, deadline=soon.timestamp()), Complete)
        async with right.store.reading() as tx:
            assert [anchor for anchor in await tx.anchors.all() if not anchor.is_beginning]
