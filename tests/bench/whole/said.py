"""What workers said in a round: what they warned of, and which jobs they put off, and why."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

QUIET = frozenset({"debug", "info"})
POSTPONED = "job_postponed"
_OF_ONE = re.compile(r"\bCLM-\S+|\b\d+\b")


@dataclass(frozen=True, slots=True)
class Said:
    """How many warnings there were, of what, and how many jobs were put off for which reason."""

    warnings: int
    warned_of: tuple[str, ...]
    postponed: tuple[tuple[str, int], ...]

    @property
    def postponements(self) -> int:
        """How many jobs were put off."""
        return sum(number for _, number in self.postponed)

    def __str__(self) -> str:
        put_off = (f"{POSTPONED} {number} x ({why})" for why, number in self.postponed)
        return ", ".join((*self.warned_of, *put_off))


def said_in(lines: Iterable[str]) -> Said:
    """Read logs in JSON; a line that is no entry of ours is a warning."""
    entries = [_entry(line) for line in lines]
    warned = [str(one["event"]) for one in entries if one["level"] not in QUIET]
    put_off = Counter(_reason(one) for one in entries if one["event"] == POSTPONED)
    return Said(len(warned), tuple(sorted(set(warned))), tuple(put_off.most_common()))


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
        return {"level": "warning", **entry, "event": entry["event"]}
    except (ValueError, KeyError, TypeError):
        return {"level": "warning", "event": line}


def _reason(entry: dict[str, Any]) -> str:
    """Without what is one claim's or one process's own."""
    return _OF_ONE.sub("...", str(entry.get("why", "")))
