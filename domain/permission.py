"""Whether a job may send a claim that is known already, and whether a send that was begun may still leave."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.claim_state import ClaimState


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a claim stands, which process sends it, and the number of an acceptance that stands."""

    state: ClaimState
    process: int | None
    protocol_number: str | None = None


@dataclass(frozen=True, slots=True)
class AlreadyAccepted:
    """The payer has the claim; whoever asks gets its number, which may be unknown."""

    protocol_number: str | None


@dataclass(frozen=True, slots=True)
class Ended:
    """People have ended the claim."""

    state: ClaimState


@dataclass(frozen=True, slots=True)
class OfAnother:
    """Another process sends the claim, and may still."""

    process: int


def of_another(standing: Standing, process: int) -> OfAnother | None:
    """Whose the claim is, if not this process's; one that has ended, or was not sent yet, is nobody's."""
    if standing.state.is_final or standing.process in (None, process):
        return None
    return OfAnother(standing.process or 0)


def sending_bar(standing: Standing, process: int) -> AlreadyAccepted | Ended | OfAnother | None:
    """What keeps this process from sending the claim."""
    if standing.state is ClaimState.ACCEPTED or standing.protocol_number:
        return AlreadyAccepted(standing.protocol_number)
    if standing.state.is_final:
        return Ended(standing.state)
    return of_another(standing, process)


@dataclass(frozen=True, slots=True)
class BegunSend:
    """A send that has not left yet: where its claim stands, the claim's newest send, its lease's end."""

    attempt: int
    state: ClaimState
    newest: int
    until: datetime | None


def leaving_barred(send: BegunSend | None, now: datetime, takes: timedelta) -> str | None:
    """What keeps a send from leaving that may take so long; a worker may have stood still since it began."""
    if send is None or send.until is None:
        return "it is not under way any more"
    if send.newest != send.attempt:
        return "a later send has begun"
    if send.state.is_final:
        return f"its claim is {send.state}"
    return "its time is nearly over" if now + takes >= send.until else None
