"""Whether a job may send a claim that is known already: by where the claim stands, and whose it is."""

from dataclasses import dataclass

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
