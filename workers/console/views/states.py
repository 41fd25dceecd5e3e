"""Where a claim or a payer stands, in words that need no manual."""

from dataclasses import dataclass
from datetime import datetime

from domain.claim_state import ClaimState
from domain.payer_status import PayerState
from domain.practice import is_made_up
from persistence.repositories.claims import ClaimRow
from persistence.repositories.figures import PayerFigures
from workers.console.views.shapes import StateShape, StateView, Tone
from workers.console.views.times import Times
from workers.console.words import Words

_CLAIMS = {
    ClaimState.RECEIVED: (Tone.CALM, StateShape.CIRCLE),
    ClaimState.SUBMITTING: (Tone.MOVING, StateShape.ARROW),
    ClaimState.FAILED: (Tone.MOVING, StateShape.ARROW),
    ClaimState.WAITING: (Tone.WAITING, StateShape.CLOCK),
    ClaimState.IN_REVIEW: (Tone.STOPPED, StateShape.PERSON),
    ClaimState.ACCEPTED: (Tone.DONE, StateShape.CHECK),
    ClaimState.CANCELLED: (Tone.CALM, StateShape.DASH),
    ClaimState.WRITTEN_OFF: (Tone.CALM, StateShape.DASH),
}
_PAYERS = {
    PayerState.CLOSED: (Tone.DONE, StateShape.CHECK),
    PayerState.HALF_OPEN: (Tone.WAITING, StateShape.CLOCK),
    PayerState.OPEN: (Tone.STOPPED, StateShape.WARNING),
    PayerState.PAUSED: (Tone.WAITING, StateShape.PAUSE),
    PayerState.STOPPED: (Tone.STOPPED, StateShape.WARNING),
}


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known of a claim beside its row; `held_by` is its payer's state, where it waits for that."""

    held_by: PayerState | None = None
    team: str | None = None


def claim_state(claim: ClaimRow, known: Circumstances, times: Times) -> StateView:
    """The claim's state."""
    words = times.words
    if claim.incident:
        return StateView(Tone.STOPPED, StateShape.WARNING, words("state.incident"))
    if claim.state is ClaimState.WAITING and known.held_by:
        return _held(claim, known.held_by, times)
    tone, shape = _CLAIMS[claim.state]
    return StateView(tone, shape, _said(claim, known, times))


def _held(claim: ClaimRow, by: PayerState, times: Times) -> StateView:
    """It waits its turn, or for the payer to be back, or for somebody to mend our access."""
    words, due = times.words, claim.next_retry_time
    if by is PayerState.STOPPED:
        return StateView(Tone.STOPPED, StateShape.WARNING, words("state.stopped"))
    if by is PayerState.CLOSED:
        text = words("state.queued_until", at=times.at(due).text) if due else words("state.queued")
        return StateView(Tone.WAITING, StateShape.CLOCK, text)
    return StateView(Tone.WAITING, StateShape.PAUSE, words("state.held"))


def _said(claim: ClaimRow, known: Circumstances, times: Times) -> str:
    words = times.words
    match claim.state:
        case ClaimState.WAITING if claim.next_retry_time:
            return words("state.WAITING_until", at=times.at(claim.next_retry_time).text)
        case ClaimState.IN_REVIEW if known.team:
            return words("state.IN_REVIEW_by", team=team_name(known.team, words))
        case ClaimState.ACCEPTED if is_made_up(claim.protocol_number):
            return words("state.ACCEPTED_practice")
        case ClaimState.ACCEPTED if claim.protocol_number:
            return words("state.ACCEPTED_with", protocol=claim.protocol_number)
        case _:
            return words(f"state.{claim.state}")


def team_name(team: str | None, words: Words) -> str:
    """A team; one that nobody named is billing management, as the rules say."""
    name = f"team.{team}"
    return words(name) if team and words.knows(name) else words("team.none")


def payer_state(payer: PayerFigures, words: Words) -> StateView:
    """The payer's state, and what is done about it."""
    tone, shape = _PAYERS[payer.status.state]
    return StateView(tone, shape, words(f"payer_state.{payer.status.state}"))


def payer_tone(state: PayerState) -> tuple[Tone, StateShape]:
    """How a payer's state looks."""
    return _PAYERS[state]


def is_at_risk(claim: ClaimRow, before: datetime) -> bool:
    """Whether an open claim is due before a moment."""
    return claim.deadline is not None and claim.deadline < before and not claim.state.is_final
