"""Names that may be labels: at most so many, none that can be a person's number, the rest as one."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from bpmn.names import JobType
from domain.check_digits import holds_personal
from workers.app.telemetry.table import OTHER

NAMES_AT_MOST = 20
TIMES_IN_ALL = 3
"""A process names at most so many times as many in its life: what a counter has shown it goes on showing."""
_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:\-]{0,63}", re.ASCII)
NOBODY = "none"
RESERVED = frozenset({OTHER, NOBODY})


def as_label(name: str | None) -> str:
    """The name as a label, however many there are; who is called like a word of ours is among the others."""
    if name is None:
        return NOBODY
    return OTHER if name in RESERVED or not _FORM.fullmatch(name) or holds_personal(name) else name


@lru_cache(maxsize=1_024)
def type_label(job_type: str) -> str:
    """A type of job as a label: one of ours, mail's lanes as one."""
    known = next((one for one in JobType if job_type == one), None)
    lane = JobType.SEND_EMAIL if job_type.startswith(f"{JobType.SEND_EMAIL}-") else None
    return known or lane or OTHER


class LabelNames:
    """Names by themselves as long as there is room, first come, first named; who is known has come first.

    Who is ranked takes the place of who is not. A name means the same for ever: what was counted before it
    was given stays with the others, and what was counted under it stays there when it is lost.
    """

    def __init__(self, known: Iterable[str] = (), *, at_most: int = NAMES_AT_MOST) -> None:
        self._at_most = at_most
        self._labels: dict[str, str] = {}
        self._ever: set[str] = set()
        for name in known:
            self.of(name)
        self._known = frozenset(self._labels)

    def of(self, name: str | None) -> str:
        """The name as a label, or what stands for all others."""
        if name is None:
            return NOBODY
        return self._labels.get(name) or self._named(name)

    def known(self, name: str | None) -> str:
        """The label of who has one already: what anybody may write down gets none, and takes no place."""
        return NOBODY if name is None else self._labels.get(name, OTHER)

    def rank(self, biggest: Sequence[str]) -> tuple[str, ...]:
        """Let these have the places that those who are known leave, the first ones first; who is new."""
        wanted = [name for name in biggest if name not in self._known][: self._at_most - len(self._known)]
        smaller = [name for name in self._labels if name not in {*self._known, *wanted}]
        new = [name for name in wanted if name not in self._labels and self._may_be_named(name)]
        for name in smaller[: max(len(self._labels) + len(new) - self._at_most, 0)]:
            del self._labels[name]
        return tuple(label for name in new if (label := self.of(name)) != OTHER)

    def named(self) -> tuple[str, ...]:
        """Those that have a label of their own."""
        return tuple(self._labels)

    def _named(self, name: str) -> str:
        if len(self._labels) >= self._at_most or not self._may_be_named(name):
            return OTHER
        self._ever.add(name)
        return self._labels.setdefault(name, as_label(name))

    def _may_be_named(self, name: str) -> bool:
        has_room = name in self._ever or len(self._ever) < TIMES_IN_ALL * self._at_most
        return has_room and as_label(name) != OTHER
