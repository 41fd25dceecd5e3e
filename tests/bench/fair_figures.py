"""What a run of the fairness bench shows, as people read it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median

from rich.table import Table

BIG = "big"
BATCH = 3
AIM_SHARE, AIM_OVERHEAD_MS = 0.08, 0.5
DATABASES = ("SQLite", "PostgreSQL")
COLUMNS = (
    "served",
    "mails/s",
    "ms per mail",
    "CPU ms per mail",
    "last small mail at",
    "of all mails",
    "most in a row",
    "choosing, ms per mail",
)


@dataclass(frozen=True, slots=True)
class Backlog:
    """So many mails of the big company, then so many of each small one."""

    big: int
    companies: int
    each: int

    @property
    def mails(self) -> Counter[str]:
        """How many mails each company has."""
        return Counter({BIG: self.big} | {f"small-{number}": self.each for number in range(self.companies)})

    def in_order(self) -> Iterator[str]:
        """Whose mail is queued, one by one."""
        return (company for company, number in self.mails.items() for _ in range(number))


@dataclass(frozen=True, slots=True)
class Figures:
    """One run."""

    how: str
    jobs: int
    seconds: float
    cpu_seconds: float
    share: float
    place: float
    longest_run: int
    choosing_seconds: float

    @property
    def cpu_ms(self) -> float:
        """Of the process with worker and mail server, for each mail."""
        return self.cpu_seconds / self.jobs * 1e3

    @property
    def ms_per_job(self) -> float:
        """From the first mail begun to the last one left."""
        return self.seconds / self.jobs * 1e3


@dataclass(frozen=True, slots=True)
class Run:
    """What was seen: whose mail was begun, whose left and when, and what it took."""

    begun: Sequence[str]
    left: Sequence[tuple[str, float]]
    began_at: float
    cpu_seconds: float
    choosing_seconds: float = 0.0


def figures(how: str, run: Run, backlog: Backlog) -> Figures:
    """What a run shows."""
    whole = max(at for _, at in run.left) - run.began_at
    last_small = max(at for company, at in run.left if company != BIG) - run.began_at
    place = 1 + max(place for place, company in enumerate(run.begun) if company != BIG)
    return Figures(
        how=how,
        jobs=len(run.begun),
        seconds=whole,
        cpu_seconds=run.cpu_seconds,
        share=last_small / whole,
        place=place / len(run.begun),
        longest_run=longest_run(run.begun, backlog),
        choosing_seconds=run.choosing_seconds,
    )


def longest_run(begun: Sequence[str], backlog: Backlog) -> int:
    """The most mails of one company in a row while another one waited."""
    left, longest = backlog.mails, 0
    for company, run in groupby(begun):
        number = len(list(run))
        left[company] -= number
        if any(count for other, count in left.items() if other != company):
            longest = max(longest, number)
    return longest


def table(backlog: Backlog, found: Sequence[Figures]) -> Table:
    """One row for each run, and the aims."""
    title = f"{backlog.big:,} mails of one company, then {backlog.each} of each of {backlog.companies}"
    shown = Table(*COLUMNS, title=title, title_justify="left")
    for one in sorted(found, key=lambda one: [other.how for other in found].index(one.how)):
        choosing = f"{one.choosing_seconds / one.jobs * 1e3:.3f}" if one.choosing_seconds else "-"
        shown.add_row(
            one.how, f"{one.jobs / one.seconds:.0f}", f"{one.ms_per_job:.2f}",
            f"{one.cpu_ms:.2f}", f"{one.share:.1%}", f"{one.place:.1%}",
            str(one.longest_run), choosing,
        )  # fmt: skip
    return shown


def limits_cost(found: Sequence[Figures]) -> list[str]:
    """What asking the limits costs: CPU of runs with them beside those without, on the same database."""
    return [
        f"limits in {name}: {cost:+.2f} ms of CPU a mail, choosing included, beside no limits"
        for name in DATABASES
        if (cost := _cost(found, name)) is not None
    ]


def _cost(found: Sequence[Figures], database: str) -> float | None:
    """The median of the differences between runs that stood side by side; None where one way was left out."""
    bare, limited = (
        [one.cpu_ms for one in found if one.how == f"by turns, {word}, {database}"]
        for word in ("no limits", "limits")
    )
    together = [with_them - without for without, with_them in zip(bare, limited, strict=False)]
    return median(together) if together else None


def missed(found: Sequence[Figures]) -> list[str]:
    """The aims that a run by turns did not meet."""
    turns = [one for one in found if one.how.startswith("by turns")]
    return [
        f"{one.how}: {what}"
        for one in turns
        for what, met in (
            (f"the small companies' last mail left at {one.share:.1%}", one.share <= AIM_SHARE),
            (f"{one.longest_run} in a row", one.longest_run <= BATCH),
            ("choosing took too long", one.choosing_seconds / one.jobs * 1e3 < AIM_OVERHEAD_MS),
        )
        if not met
    ] + [
        f"limits in {name} cost {cost:.2f} ms of CPU a mail"
        for name in DATABASES
        if (cost := _cost(found, name)) is not None and cost >= AIM_OVERHEAD_MS
    ]
