"""Settings: frozen, named in errors, and limits that make sense."""

from datetime import timedelta
from pathlib import Path

import pytest

from bpmn.names import JobType
from workers.config.settings import HandlerLimits, SettingsError, read_settings
from workers.jobs.limits import within
from workers.runtime import Complete, Job, JobHandler, Outcome


async def done(_job: Job) -> Outcome:
    return Complete()


HANDLER = JobHandler("analyze-retry", (), done, lock=timedelta(seconds=10), time_limit=timedelta(seconds=5))


def test_what_is_not_given_stays_as_the_rule_sets_it() -> None:
    assert within(HandlerLimits(), HANDLER) == HANDLER


def test_limits_change_what_they_name() -> None:
    limited = within(HandlerLimits(lock_seconds=20, time_limit_seconds=15, at_once=7), HANDLER)
    assert limited.lock == timedelta(seconds=20)
    assert limited.time_limit == timedelta(seconds=15)
    assert limited.at_once == 7


def test_a_lock_shorter_than_the_work_is_refused_with_both_numbers() -> None:
    with pytest.raises(SettingsError, match=r"analyze-retry may run 30 s.*locked for 10 s"):
        within(HandlerLimits(time_limit_seconds=30), HANDLER)


def test_limits_are_read_from_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDLER_LIMITS", '{"analyze-retry": {"at_once": 3}}')
    assert read_settings().handler_limits == {JobType.ANALYZE_RETRY: HandlerLimits(at_once=3)}


@pytest.mark.parametrize("text", ["{", '{"no-such-type": {}}', '{"analyze-retry": {"at_once": 0}}'])
def test_limits_that_make_no_sense_are_told_by_their_variable(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("HANDLER_LIMITS", text)
    with pytest.raises(SettingsError, match=r"(?i)handler_limits"):
        read_settings()


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_URL", "")
    monkeypatch.setenv("REENVIO_HOME", str(tmp_path))
    assert read_settings().database.endswith("reenvio.db")
    assert read_settings().probes.port is None
