"""Which attempts at sending mail succeed: document 03's retry_success_rate."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.mail.mail import MailState


@dataclass(frozen=True, slots=True)
class MailTally:
    """So many mails that have begun so many attempts and stand so; `is_under_way`: the last has not ended."""

    attempts: int
    state: MailState
    is_under_way: bool
    number: int


def success_by_attempt(tallies: Sequence[MailTally]) -> Mapping[int, float]:
    """Which share of the first attempts, of the second ones and so on was taken by the mail server."""
    made: Counter[int] = Counter()
    taken: Counter[int] = Counter()
    for tally in tallies:
        ended = tally.attempts - tally.is_under_way
        made.update(dict.fromkeys(range(1, ended + 1), tally.number))
        if tally.state is MailState.SENT:
            taken[ended] += tally.number
    return {attempt: taken[attempt] / number for attempt, number in sorted(made.items())}
