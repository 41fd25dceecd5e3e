"""Reports by the run of a handler that made them: a run says one thing, and stops when it was answered.

A handler takes part by writing its own mark, such as `run-17`, into what it reports.
"""

import re
from dataclasses import dataclass

_MARK = re.compile(r"run-\d+")


@dataclass(slots=True)
class _Run:
    said: tuple[str, str]
    is_answered: bool = False


class Runs:
    """Watches for runs that report two different things, or go on after an answer."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}
        self.contradictions: list[str] = []
        self.repetitions: list[str] = []

    def arrived(self, verb: str, text: str) -> str | None:
        """A report came in; the mark of its run, when it has one."""
        if (mark := _MARK.search(text)) is None:
            return None
        run = self._runs.setdefault(mark[0], _Run((verb, text)))
        if run.said != (verb, text):
            self.contradictions.append(f"{mark[0]}: {run.said[0]}, then {verb}")
        if run.is_answered:
            self.repetitions.append(f"{mark[0]}: {verb} again after an answer")
        return mark[0]

    def answered(self, mark: str | None) -> None:
        """The run's report got an answer that leaves no doubt."""
        if mark is not None:
            self._runs[mark].is_answered = True

    def forget_answered(self) -> None:
        """Drop the runs that were answered."""
        self._runs = {mark: run for mark, run in self._runs.items() if not run.is_answered}
