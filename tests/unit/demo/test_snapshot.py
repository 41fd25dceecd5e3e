"""When the demo lets time run: only while every claim rests."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from domain.claim_state import ClaimState
from domain.payer_status import PayerLimits, PayerState, PayerStatus, PlannedDowntime
from gateways.practice.simulator.ledger import TAKEN, Ledger, LedgerEntry
from persistence.repositories.claims import ClaimRow
from persistence.repositories.journal import JournalEntry
from workers.demo.samples import samples
from workers.demo.snapshot import Snapshot, clock, draw, state_in_words
from workers.demo.summary import ledger_line, summary, taken_twice, unmet
from workers.payers.status import PayerView

NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)


REASON = "SERVICE_UNAVAILABLE - a reason that is far longer than what is left of a narrow screen"


def claim(state: ClaimState, due: datetime | None = None, claim_id: str = "CLM-DEMO-1001") -> ClaimRow:
    return ClaimRow(claim_id, "north", state, 1, due, None, REASON, NOW)


def payer(
    state: PayerState, *, probed: timedelta | None = None, limits: PayerLimits | None = None
) -> PayerView:
    """A payer that changed to its state an hour ago and was probed this long ago."""
    at = None if probed is None else NOW - probed
    status = PayerStatus("north", NOW - timedelta(hours=1), state, probed_at=at)
    return PayerView(status, limits or PayerLimits(), 3, 0)


def snapshot(*claims: ClaimRow, payers: tuple[PayerView, ...] = ()) -> Snapshot:
    entries = (JournalEntry(1, "CLM-1-1", NOW, "failed", "x"),)
    return Snapshot(NOW - timedelta(minutes=83), NOW, claims, entries, payers)


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


def test_claims_rest_only_when_nothing_has_happened_since_the_last_look() -> None:
    due = NOW + timedelta(minutes=5)
    before, moved = snapshot(claim(ClaimState.WAITING, due)), snapshot(claim(ClaimState.IN_REVIEW))
    assert snapshot(claim(ClaimState.WAITING, due)).rests_since(before)
    assert not moved.rests_since(before)
    assert not snapshot(claim(ClaimState.SUBMITTING)).rests_since(snapshot(claim(ClaimState.SUBMITTING)))


@pytest.mark.parametrize(
    ("view", "awaited"),
    [
        (payer(PayerState.OPEN), True),
        (payer(PayerState.OPEN, probed=timedelta(minutes=7)), True),
        (payer(PayerState.OPEN, probed=timedelta(minutes=5)), False),
        (payer(PayerState.HALF_OPEN, probed=timedelta(0)), True),
        (payer(PayerState.CLOSED), False),
    ],
)
def test_time_waits_for_the_probe_of_a_payer_that_is_down(view: PayerView, awaited: bool) -> None:
    assert snapshot(payers=(view,)).awaits_probe is awaited


@pytest.mark.parametrize(
    ("view", "word"),
    [
        (payer(PayerState.CLOSED), "takes claims"),
        (payer(PayerState.OPEN), "down"),
        (payer(PayerState.HALF_OPEN), "being tried"),
        (payer(PayerState.PAUSED), "paused"),
        (
            payer(
                PayerState.CLOSED,
                limits=PayerLimits(windows=(PlannedDowntime(NOW, NOW + timedelta(hours=1)),)),
            ),
            "maintenance",
        ),
    ],
)
def test_a_payers_state_is_said_in_words(view: PayerView, word: str) -> None:
    assert state_in_words(view, NOW) == word


def test_the_picture_names_payers_in_trouble_only() -> None:
    well = drawn(snapshot(payers=(payer(PayerState.CLOSED),)), rows=24)
    assert "every payer takes claims" in well
    down = drawn(snapshot(payers=(payer(PayerState.OPEN),)), rows=24)
    assert "north down, claims held: 3" in down


def drawn(shown: Snapshot, *, rows: int) -> str:
    console = Console(width=100, height=rows, record=True, force_terminal=False)
    with console.capture() as captured:
        console.print(draw(shown, rows=rows))
    return captured.get()


def test_the_next_timer_is_the_earliest() -> None:
    soon, late = NOW + timedelta(minutes=1), NOW + timedelta(minutes=9)
    assert snapshot(claim(ClaimState.WAITING, late), claim(ClaimState.WAITING, soon)).next_due == soon
    assert snapshot(claim(ClaimState.ACCEPTED)).next_due is None


def test_elapsed_time_reads_as_hours_and_minutes() -> None:
    assert clock(timedelta(minutes=83)) == "+1:23"


@pytest.mark.parametrize("rows", [10, 24, 60])
def test_the_picture_fits_the_screen(rows: int) -> None:
    claims = [claim(ClaimState.WAITING, NOW + timedelta(minutes=n), f"CLM-DEMO-{n}") for n in range(1, 30)]
    picture = drawn(snapshot(*claims, payers=(payer(PayerState.OPEN),)), rows=rows)
    assert len(picture.splitlines()) <= max(rows, 15)
    assert "CLM-DEMO-1 " in picture  # a long reason gives way, not the claim's id
    assert " waiting " in picture


def test_the_summary_counts_claims_that_did_not_end_as_they_should() -> None:
    cast = samples()[:3]
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


def test_every_protocol_in_the_summary_says_that_it_is_simulated() -> None:
    cast = samples()[:2]
    taken = replace(claim(ClaimState.ACCEPTED, claim_id=cast[0].claim_id), protocol_number="900000000001")
    failed = claim(ClaimState.FAILED, claim_id=cast[1].claim_id)
    console = Console(width=160, record=True)
    with console.capture() as captured:
        console.print(summary(cast, [taken, failed], {}))
    [row] = [line for line in captured.get().splitlines() if "900000000001" in line]
    assert "900000000001 (simulated)" in row
    assert captured.get().count("(simulated)") == 1


def test_the_payers_ledger_says_that_no_batch_was_taken_twice() -> None:
    ledger = Ledger()
    taken = LedgerEntry(NOW, "999001", "loteGuiasWS", TAKEN, "1001", "900000000001")
    ledger.record(taken)
    ledger.record(LedgerEntry(NOW, "999001", "loteGuiasWS", "refused:3268", "1001"))
    assert ledger_line(ledger) == "The payers' ledger: 2 sends arrived, 1 batches taken, none twice."
    ledger.record(taken)
    assert taken_twice(ledger) == 1
