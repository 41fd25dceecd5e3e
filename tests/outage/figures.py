"""What came of the claims, from our own books and from the payer's."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gateways.practice.simulator.ledger import TAKEN, LedgerEntry

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Figures:
    """One way through the outage; the peak is in units of the payer's capacity.

    `drain_over_pace` is the time from the first protocol to the last, in units of what the pace needs
    (`at_pace`).
    """

    recovered: float
    attempts_per_claim: float
    most_attempts: int
    peak_over_capacity: float
    to_first_protocol: timedelta
    to_last_protocol: timedelta
    at_pace: timedelta
    drain_over_pace: float
    taken_twice: int


def figures(
    attempts: Sequence[int],
    accepted: int,
    entries: Iterable[LedgerEntry],
    recovery: datetime,
    per_minute: int,
) -> Figures:
    """The figures of one run; `attempts` has one number for each claim."""
    sends = [entry for entry in entries if entry.operation == "loteGuiasWS"]
    taken = [entry for entry in sends if entry.verdict == TAKEN]
    protocols = [entry.at for entry in taken] or [recovery]
    drain, at_pace = max(protocols) - min(protocols), len(protocols) * MINUTE / per_minute
    return Figures(
        recovered=accepted / len(attempts),
        attempts_per_claim=sum(attempts) / len(attempts),
        most_attempts=max(attempts),
        peak_over_capacity=peak([entry.at for entry in sends if entry.at >= recovery]) / per_minute,
        to_first_protocol=min(protocols) - recovery,
        to_last_protocol=max(protocols) - recovery,
        at_pace=at_pace,
        drain_over_pace=drain / at_pace,
        taken_twice=len(taken) - len({entry.lote for entry in taken}),
    )


def peak(moments: Iterable[datetime]) -> int:
    """The most moments that lie within any one minute."""
    ordered, first, most = sorted(moments), 0, 0
    for last, moment in enumerate(ordered):
        while moment - ordered[first] >= MINUTE:
            first += 1
        most = max(most, last - first + 1)
    return most
