"""What was counted in a period: claims by what became of their first round."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class KpiTally:
    """Claims whose first failure was decided on in one period, at one payer or at all.

    `exhausted` and `by_deadline` are all whose retries, or whose time, ran out; `spent` and
    `ended_by_deadline` those of ours that had been retried. `elsewhere` are those that another process
    sends: they are in `decided`, `permanent`, `exhausted` and `by_deadline`, and in nothing else, since
    nobody tells us what became of them. `running` are claims of ours whose first round is not over,
    `running_retried` those of them with a retry; `in_review` counts claims that a person has now,
    `by_people` those taken in a later round or by a person's word, not by their first send's late answer.
    `untimed` are recovered ones whose times nobody knows, since a clock was set back: they are in no time.
    """

    decided: int = 0
    elsewhere: int = 0
    permanent: int = 0
    exhausted: int = 0
    by_deadline: int = 0
    retried: int = 0
    recovered: int = 0
    untimed: int = 0
    spent: int = 0
    ended_by_deadline: int = 0
    retries_sent: int = 0
    since_failure_us: int = 0
    since_send_us: int = 0
    running: int = 0
    running_retried: int = 0
    in_review: int = 0
    by_people: int = 0

    def __add__(self, other: "KpiTally") -> "KpiTally":
        """Both together."""
        return KpiTally(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(KpiTally)})

    @property
    def timed(self) -> int:
        """Recovered claims whose times are known."""
        return self.recovered - self.untimed

    @property
    def is_empty(self) -> bool:
        """Whether nothing was decided on."""
        return self.decided == 0


@dataclass(frozen=True, slots=True)
class Counted:
    """A tally, and what cannot be added up: the two middle ones of the times since the first failure.

    They are the same where their number is odd.
    """

    tally: KpiTally
    middle_us: tuple[int, int] | None = None
