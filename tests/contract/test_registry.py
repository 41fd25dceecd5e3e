"""Models, names and handlers agree."""

from pathlib import Path

import pytest

from bpmn.names import JobType, Variable
from persistence.database.engine import open_database, sqlite_url
from persistence.store import Store
from tests.support.services import services
from workers.jobs import all_handlers
from workers.runtime import JobHandler


@pytest.fixture
def handlers(tmp_path: Path) -> list[JobHandler]:
    store = Store(open_database(sqlite_url(tmp_path / "unused.db")))
    return list(all_handlers(services(store)))


def test_every_job_type_has_exactly_one_handler(handlers: list[JobHandler]) -> None:
    assert sorted(handler.type for handler in handlers) == sorted(JobType)


def test_handlers_fetch_only_variables_that_have_a_name(handlers: list[JobHandler]) -> None:
    for handler in handlers:
        assert handler.variables, f"{handler.type} would fetch every variable of the process"
        assert set(handler.variables) <= set(Variable), handler.type


def test_a_lock_outlives_the_handler_it_protects(handlers: list[JobHandler]) -> None:
    for handler in handlers:
        assert handler.lock > handler.time_limit, handler.type


def test_retry_submission_backoff_has_the_limits_its_rule_sets(handlers: list[JobHandler]) -> None:
    [handler] = [h for h in handlers if h.type == JobType.RETRY_SUBMISSION_BACKOFF]
    assert handler.time_limit.total_seconds() == 2
    assert handler.at_once == 10


def test_analyze_retry_has_the_limits_its_rule_sets(handlers: list[JobHandler]) -> None:
    [handler] = [h for h in handlers if h.type == JobType.ANALYZE_RETRY]
    assert handler.lock.total_seconds() == 10
    assert handler.time_limit.total_seconds() == 5
    assert handler.at_once == 50
