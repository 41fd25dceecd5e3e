"""A time at the end of the calendar is refused at the door, and stops no job where it is stored already."""

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.breaker import Breaker
from domain.durations import LONGEST_AHEAD, read_duration
from domain.intake import moment_ahead
from domain.payer_status import PayerLimits, PayerState, PayerStatus
from domain.refusals import Refusal
from domain.verdicts import Candidate, Hold
from gateways.tiss.settings import BreakerSettings, MaintenanceWindow, PayerSettingsError, read_payers
from gateways.zeebe.engine import EngineError
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.command_line import reenvio
from tests.support.payers_file import payers_file
from workers.cli.engine_clock import parse_duration
from workers.config.settings import SettingsError, read_settings
from workers.payers.admission import locked
from workers.payers.limits import limits_from

ZONE = ZoneInfo("America/Sao_Paulo")
LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
MOMENTS = tuple(field.name for field in fields(PayerStatus) if "datetime" in str(field.type))
PAYERS = '[payers.999999]\nendpoint = "https://payer.example"\nversion = "4.03.00"\n'


def at(moment: datetime, names: Sequence[str]) -> dict[str, Any]:
    return dict.fromkeys(names, moment)


@given(st.datetimes(timezones=st.sampled_from([UTC, ZONE, None])), st.datetimes(timezones=st.just(UTC)))
def test_a_moment_that_a_person_gives_is_taken_or_refused_and_leaves_room_for_every_wait(
    given_moment: datetime, now: datetime
) -> None:
    now = now.replace(year=min(max(now.year, 2000), 2500), day=min(now.day, 28))
    try:
        moment = moment_ahead("deadline", given_moment.isoformat(), now, ZONE)
    except Refusal:
        return
    assert now < moment <= now + LONGEST_AHEAD


@given(st.integers(0, 10**30), st.sampled_from("dhms"))
def test_a_duration_that_a_person_gives_is_taken_or_refused(amount: int, unit: str) -> None:
    try:
        moment = moment_ahead("moment", f"{amount}{unit}", NOW, ZONE)
    except Refusal:
        return
    assert NOW < moment <= NOW + LONGEST_AHEAD


def test_a_moment_too_far_ahead_is_refused_with_field_rule_and_remedy() -> None:
    with pytest.raises(Refusal) as refused:
        moment_ahead("moment", "9999-12-31", NOW, ZONE)
    assert (refused.value.field, refused.value.rule) == ("moment", "at most 100 years ahead")
    assert "earlier" in refused.value.remedy


def test_a_pause_until_the_end_of_time_is_a_bad_argument_and_pauses_nobody(tmp_path: Path) -> None:
    settings = {"PAYERS_FILE": str(payers_file(tmp_path, PAYERS)), "ZEEBE_ADDRESS": "localhost:1"}
    reenvio(tmp_path, "migrate")
    asked = ("payer", "pause", "999999", "--reason", "x", "--until", "9999-12-31T23:59:59+00:00")
    done = reenvio(tmp_path, *asked, **settings)
    assert (done.returncode, "years ahead" in done.stderr) == (2, True), done.stderr
    assert "PAUSED" not in reenvio(tmp_path, "payer", "list", **settings).stdout


@pytest.mark.parametrize("state", list(PayerState))
@pytest.mark.parametrize("named", [(name,) for name in MOMENTS] + [MOMENTS], ids="-".join)
async def test_jobs_of_a_payer_go_on_whatever_time_its_row_holds(
    store: Store, state: PayerState, named: tuple[str, ...]
) -> None:
    spoilt = replace(PayerStatus("p", NOW, state), **at(LAST, named))
    async with store.transaction() as tx:
        await tx.payers.lock("p", now=NOW)
        await tx.payers.save(spoilt)
    for number in range(3):
        async with store.transaction() as tx:
            payer = await locked(tx, "p", PayerLimits(), NOW)
            admission = await payer.admit(Candidate(f"CLM-1-{number}", "p", None))
            if isinstance(admission.verdict, Hold):
                assert NOW < admission.verdict.resume_at <= NOW + LONGEST_AHEAD + timedelta(days=1)
            await (await locked(tx, "p", PayerLimits(), NOW)).give_slots()


@given(
    st.datetimes(timezones=st.just(UTC)) | st.none(),
    st.sampled_from(PayerState),
    st.sampled_from(MOMENTS),
    st.sampled_from([PayerLimits(), PayerLimits(per_minute=1, share=0.1), PayerLimits(per_minute=None)]),
)
def test_a_breaker_with_bounded_times_answers_at_any_moment_of_its_row(
    moment: datetime | None, state: PayerState, name: str, limits: PayerLimits
) -> None:
    status = replace(PayerStatus("p", NOW, state), **at(moment or NOW, [name])).bounded(NOW)
    breaker = Breaker(status, limits, NOW)
    status, _ = breaker.admit(Candidate("CLM-1-1", "p", None), 0)
    assert Breaker(status, limits, NOW).resumed().state is PayerState.CLOSED


@given(st.floats(), st.floats())
def test_a_breaker_takes_only_waits_that_can_be_waited(first: float, longest: float) -> None:
    try:
        settings = BreakerSettings(first_wait_minutes=first, longest_wait_minutes=longest)
    except ValidationError:
        return
    for wait in (settings.first_wait_minutes, settings.longest_wait_minutes):
        assert NOW + timedelta(minutes=wait) * 2**10 >= NOW


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_a_maintenance_window_lies_in_years_that_leave_room_for_waits(start: datetime, end: datetime) -> None:
    try:
        window = MaintenanceWindow(start=start, end=end)
    except ValidationError:
        return
    assert 2000 <= window.start.year <= window.end.year < 9000


def test_a_window_until_the_end_of_time_is_named(tmp_path: Path) -> None:
    window = "windows = [{start = 2026-01-01T00:00:00Z, end = 9999-12-31T23:59:59Z}]\n"
    with pytest.raises(PayerSettingsError, match=r"windows\.0\.end: .*2000 to 8999"):
        read_payers(payers_file(tmp_path, PAYERS + window), {})
    [payer] = read_payers(payers_file(tmp_path, PAYERS), {}).values()
    assert limits_from(payer).windows == ()


HUGE = ("1e300", "inf", "nan", "999999999999")


@pytest.mark.parametrize("value", HUGE)
@pytest.mark.parametrize(
    "variable",
    [
        "RETENTION_LOG_YEARS",
        "RETENTION_HISTORY_YEARS",
        "RETENTION_ERROR_ANALYSIS_YEARS",
        "RETENTION_PAYLOAD_DAYS",
        "RETENTION_PUBLISHED_DAYS",
        "CLAIM_DEADLINE_HOURS",
        "DRAIN_SECONDS",
        "IDEMPOTENCY_TTL_HOURS",
    ],
)
def test_a_period_too_long_for_any_calendar_is_a_setting_that_does_not_fit(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=variable):
        read_settings()


@pytest.mark.parametrize("value", ["1e300", "Infinity", "NaN", "999999999999"])
@pytest.mark.parametrize("limit", ["lock_seconds", "time_limit_seconds"])
def test_a_handlers_time_too_long_for_any_lock_does_not_fit(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: str
) -> None:
    monkeypatch.setenv("HANDLER_LIMITS", f'{{"submit-claim": {{"{limit}": {value}}}}}')
    with pytest.raises(SettingsError, match="HANDLER_LIMITS"):
        read_settings()


@given(st.integers(0, 10**30), st.sampled_from("dhms"))
def test_the_clock_is_moved_by_a_duration_that_fits_the_calendar_or_not_at_all(
    amount: int, unit: str
) -> None:
    try:
        duration = parse_duration(f"{amount}{unit}")
    except EngineError:
        return
    assert duration <= LONGEST_AHEAD


@given(st.text(max_size=200))
def test_any_text_is_a_duration_or_none(text: str) -> None:
    try:
        read_duration(text)
    except OverflowError:
        assert any(character.isdigit() for character in text)
