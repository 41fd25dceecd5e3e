"""When the demo lets time run: only while every claim rests."""

from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from domain.claim_state import ClaimState
from persistence.claims import ClaimRow
from persistence.journal import JournalEntry
from workers.demo.picture import Snapshot, clock, draw
from workers.demo.samples import samples, script
from workers.demo.summary import summary, unmet

NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)


def claim(state: ClaimState, due: datetime | None = None, claim_id: str = "CLM-DEMO-1001") -> ClaimRow:
    return ClaimRow(claim_id, "north", state, 1, due, None, None, NOW)


def snapshot(*claims: ClaimRow) -> Snapshot:
    return Snapshot(
        NOW - timedelta(minutes=83), NOW, claims, (JournalEntry(1, "CLM-1-1", NOW, "failed", "x"),)
    )


@pytest.mark.parametrize(
    ("row", "quiet"),
    [
        (claim(ClaimState.WAITING, NOW + timedelta(seconds=1)), True),
        (claim(ClaimState.WAITING, NOW), False),
        (claim(ClaimState.SUBMITTING), False),
        (claim(ClaimState.FAILED), False),
        (claim(ClaimState.IN_REVIEW), True),
        (claim(ClaimState.ACCEPTED), True),
    ],
)
def test_time_may_run_only_while_the_claim_rests(row: ClaimRow, quiet: bool) -> None:
    assert snapshot(row).is_quiet is quiet


def test_the_next_timer_is_the_earliest() -> None:
    soon, late = NOW + timedelta(minutes=1), NOW + timedelta(minutes=9)
    assert snapshot(claim(ClaimState.WAITING, late), claim(ClaimState.WAITING, soon)).next_due == soon
    assert snapshot(claim(ClaimState.ACCEPTED)).next_due is None


def test_elapsed_time_reads_as_hours_and_minutes() -> None:
    assert clock(timedelta(minutes=83)) == "+1:23"


@pytest.mark.parametrize("rows", [10, 24, 60])
def test_the_picture_fits_the_screen(rows: int) -> None:
    claims = [claim(ClaimState.WAITING, NOW + timedelta(minutes=n), f"CLM-DEMO-{n}") for n in range(1, 30)]
    console = Console(width=100, height=rows, record=True, force_terminal=False)
    with console.capture() as captured:
        console.print(draw(snapshot(*claims), rows=rows))
    assert len(captured.get().splitlines()) <= max(rows, 14)


def test_the_cast_has_about_twenty_claims_with_ids_of_their_own() -> None:
    cast = samples(NOW)
    assert 18 <= len(cast) <= 24
    assert len({sample.claim_id for sample in cast}) == len(cast)
    assert set(script(cast, NOW).answers) <= {sample.claim_id for sample in cast}


def test_the_summary_counts_claims_that_did_not_end_as_they_should() -> None:
    cast = samples(NOW)[:3]
    ended = [
        claim(ClaimState.ACCEPTED, claim_id=cast[0].claim_id),
        claim(ClaimState.WAITING, claim_id=cast[1].claim_id),
    ]
    assert unmet(cast, ended) == 2
    console = Console(width=120, record=True)
    with console.capture() as captured:
        console.print(summary(cast, ended, {}))
    assert "never arrived" in captured.get()
    assert "no: ACCEPTED" in captured.get()
