"""The gateway's book: every job's deliveries and end, and what each run of a handler reported."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from tests.support.faults.runs import Runs


class End(StrEnum):
    """How a job can end."""

    COMPLETED = "completed"
    THROWN = "thrown"
    INCIDENT = "incident"


@dataclass(slots=True)
class Story:
    """One job from its creation to its end."""

    created: float
    deliveries: int = 0
    reports: int = 0
    end: End | None = None
    ended: float | None = None
    detail: str = ""

    @property
    def seconds(self) -> float | None:
        """From creation to end."""
        return None if self.ended is None else self.ended - self.created


@dataclass(slots=True)
class Ledger:
    """Stories by job key, and totals that stay when ended stories are forgotten."""

    stories: dict[int, Story] = field(default_factory=dict, repr=False)
    runs: Runs = field(default_factory=Runs, repr=False)
    ends: Counter[End] = field(default_factory=Counter)
    created: int = 0
    deliveries: int = 0
    redeliveries: int = 0
    expiries: int = 0

    @property
    def ended(self) -> int:
        """How many jobs have come to an end."""
        return self.ends.total()

    def job_created(self, key: int, now: float) -> None:
        """A job came into being."""
        self.stories[key] = Story(now)
        self.created += 1

    def job_delivered(self, key: int) -> None:
        """A worker was given the job, for the first time or again."""
        story = self.stories[key]
        self.deliveries += 1
        self.redeliveries += story.deliveries > 0
        story.deliveries += 1

    def job_reported(self, key: int) -> None:
        """A report about the job arrived, and got as far as the job store."""
        if (story := self.stories.get(key)) is not None:
            story.reports += 1

    def job_ended(self, key: int, end: End, *, now: float, detail: str = "") -> None:
        """The job came to its end."""
        story = self.stories[key]
        story.end, story.ended, story.detail = end, now, detail
        self.ends[end] += 1

    def forget_ended(self) -> None:
        """Drop the stories of ended jobs, so that a long run keeps its memory."""
        self.stories = {key: story for key, story in self.stories.items() if story.end is None}
        self.runs.forget_answered()
