"""Settings: frozen, named in errors, and limits that make sense."""

from datetime import timedelta
from pathlib import Path

import platformdirs
import pytest

from bpmn.names import JobType
from workers.config.settings import (
    HandlerLimits,
    Settings,
    SettingsError,
    read_engine_settings,
    read_settings,
)
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


@pytest.mark.parametrize("name", ["DATABASE_URL", "HEALTH_PORT", "HANDLER_LIMITS", "PRACTICE_PAYER"])
def test_an_empty_variable_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "")
    with pytest.raises(SettingsError, match=f"{name}: it is set, but empty: unset it, or give it a value"):
        read_settings()


def test_the_faults_of_all_topics_are_reported_at_once_each_by_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = {
        "DRAIN_SECONDS": "-1",
        "HANDLER_LIMITS": "{",
        "LOG_LEVEL": "loud",
        "HEALTH_PORT": "many",
        "CLAIM_MAX_BYTES": "1",
        "API_TOKENS": "short",
        "REDIS_UNSAFE": "perhaps",
        "RETENTION_LOG_YEARS": "1",
        "IDEMPOTENCY_TTL_HOURS": "0",
        "IDEMPOTENCY_TTL_HOURS_BY_OPERATION": "{",
        "ENGINE_GRPC_PORT": "0",
        "ZEEBE_TLS": "perhaps",
    }
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        read_settings()
    assert [name for name in wrong if f"{name}: " not in str(refused.value)] == []


@pytest.mark.parametrize("hours", ["0", "0.99", "-1", "8784.5", "nan", "inf"])
def test_a_records_life_outside_its_range_is_refused_with_variable_rule_and_remedy(
    monkeypatch: pytest.MonkeyPatch, hours: str
) -> None:
    monkeypatch.setenv("IDEMPOTENCY_TTL_HOURS", hours)
    told = r"IDEMPOTENCY_TTL_HOURS: .*\(RN-IdempotencyRecord\) is kept 1 to 8784 hours: choose such a number"
    with pytest.raises(SettingsError, match=told):
        read_settings()


@pytest.mark.parametrize("text", ["{", "24", '{"no_such_operation": 24}', '{"submit_claim": 0}'])
def test_a_record_life_by_operation_that_makes_no_sense_is_told_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("IDEMPOTENCY_TTL_HOURS_BY_OPERATION", text)
    with pytest.raises(SettingsError, match="IDEMPOTENCY_TTL_HOURS_BY_OPERATION: "):
        read_settings()


def test_building_settings_reads_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_URL", "nonsense")
    monkeypatch.setenv("LOG_LEVEL", "error")
    settings = Settings(home=tmp_path)
    assert settings.database == f"sqlite+aiosqlite:///{tmp_path}/reenvio.db"
    assert (settings.logs.level, settings.environment) == ("info", {})


def test_each_value_has_one_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("REENVIO_HOME", raising=False)
    for taken_by_others in ("HOME", "FILE", "API", "ENGINE", "ENVIRONMENT", "PORT"):
        monkeypatch.setenv(taken_by_others, str(tmp_path))
    settings = read_settings()
    assert settings.home == platformdirs.user_data_path("reenvio") != tmp_path
    assert (settings.payers.file, settings.api.port) == (None, None)


def test_a_payers_secret_comes_from_the_environment_and_is_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NORTH_PASSWORD", "hidden")
    settings = read_settings()
    assert settings.environment["NORTH_PASSWORD"] == "hidden"
    assert "hidden" not in repr(settings)


def test_the_engine_is_found_and_stopped_whatever_else_is_set_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "loud")
    monkeypatch.setenv("ENGINE_MEMORY", "1g")
    assert read_engine_settings().memory == "1g"
    with pytest.raises(SettingsError, match="LOG_LEVEL"):
        read_settings()


def test_no_limits_for_handlers_may_be_written_as_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDLER_LIMITS", "null")
    assert read_settings().handler_limits == {}


def test_limits_that_are_nested_too_deeply_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDLER_LIMITS", "[" * 100_000)
    with pytest.raises(SettingsError, match="HANDLER_LIMITS: it is nested too deeply"):
        read_settings()


def test_a_database_password_is_in_no_repr() -> None:
    assert "hidden" not in repr(Settings(database_url="postgresql+asyncpg://u:hidden@h/db"))
