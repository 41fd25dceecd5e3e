"""What a person reads after asking something of a claim: what was taken, what was not, what is not known."""

from datetime import timedelta

import pytest

from domain.claim_state import ClaimState
from persistence.repositories.claims import ClaimRow
from persistence.repositories.incidents import StuckJob
from tests.support.builders import NOW, later
from workers.claims.confirmation import NotConfirmed
from workers.claims.messages import stands_on_incident
from workers.cli.steer import woken

STUCK = StuckJob(
    message="Payer p refused our credentials.",
    since=NOW,
    type="submit-claim",
    key=7,
    first_key=7,
    element_id="Task_SubmitClaim",
    element_instance_key=6,
    process_instance_key=5,
)


def claim(state: ClaimState, **more: object) -> ClaimRow:
    row: dict[str, object] = {"retry_count": 1, "next_retry_time": None, "protocol_number": None}
    given = row | {"reason": "the payer is paused", "updated_at": NOW} | more
    return ClaimRow("CLM-1", "p", state, **given)  # type: ignore[arg-type]


def test_a_wish_to_a_claim_on_an_incident_names_it_and_both_ways_on() -> None:
    said = str(stands_on_incident(claim(ClaimState.WAITING), STUCK))
    for told in ("told nothing", NOW.isoformat(timespec="seconds"), "instance 5", "job 7", STUCK.message):
        assert told in said
    assert "`reenvio claim resolve CLM-1`" in said
    assert "`reenvio claim cancel CLM-1`" in said


@pytest.mark.parametrize(
    ("kept", "told"), [(timedelta(seconds=10), "10 s"), (timedelta(minutes=10), "600 s")]
)
def test_what_nobody_has_confirmed_is_not_called_done(kept: timedelta, told: str) -> None:
    unknown = NotConfirmed("CLM-1", kept)
    assert unknown.exit_code == 3
    assert f"not known yet. The engine keeps what you asked for {told}" in str(unknown)


def test_a_wake_up_tells_where_the_claim_stands_now() -> None:
    before = claim(ClaimState.WAITING, next_retry_time=later(minutes=1))
    assert woken(before, claim(ClaimState.SUBMITTING)) == "CLM-1 was woken; it is SUBMITTING now."
    held = woken(before, claim(ClaimState.WAITING, next_retry_time=later(minutes=5)))
    until = later(minutes=5).isoformat(timespec="seconds")
    assert (
        held == f"CLM-1 is woken, but waits on for payer p until {until} at the latest: the payer is paused."
    )


def test_a_wake_up_whose_send_was_made_and_failed_is_not_called_a_wait_for_the_payer() -> None:
    before = claim(ClaimState.WAITING, next_retry_time=later(minutes=1))
    failed = claim(ClaimState.WAITING, retry_count=2, reason="Retry 2 of 5", next_retry_time=later(minutes=9))
    at = later(minutes=9).isoformat(timespec="seconds")
    assert woken(before, failed) == f"CLM-1 was sent and failed: Retry 2 of 5, at {at}."
