"""Names that may be labels: at most so many, none that can be a person's number, the rest as one."""

import re
from collections.abc import Iterable

from domain.check_digits import holds_personal
from workers.app.telemetry.table import OTHER

NAMES_AT_MOST = 20
_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:\-]{0,63}", re.ASCII)
NOBODY = "none"
RESERVED = frozenset({OTHER, NOBODY})


def as_label(name: str | None) -> str:
    """The name as a label, however many there are; who is called like a word of ours is among the others."""
    if name is None:
        return NOBODY
    return OTHER if name in RESERVED or not _FORM.fullmatch(name) or holds_personal(name) else name


class LabelNames:
    """Names by themselves as long as there is room, first come, first named; who is known has come first.

    A counter's label must not change its meaning, so nobody loses a name to somebody bigger.
    """

    def __init__(self, known: Iterable[str] = (), *, at_most: int = NAMES_AT_MOST) -> None:
        self._at_most = at_most
        self._labels: dict[str, str] = {}
        for name in known:
            self.of(name)

    def of(self, name: str | None) -> str:
        """The name as a label, or what stands for all others."""
        if name is None:
            return NOBODY
        return self._labels.get(name) or self._named(name)

    def known(self, name: str | None) -> str:
        """The label of who has one already: what anybody may write down gets none, and takes no place."""
        return NOBODY if name is None else self._labels.get(name, OTHER)

    def named(self) -> tuple[str, ...]:
        """Those that have a label of their own."""
        return tuple(self._labels)

    def _named(self, name: str) -> str:
        if len(self._labels) >= self._at_most or (label := as_label(name)) == OTHER:
            return OTHER
        self._labels[name] = label
        return label
