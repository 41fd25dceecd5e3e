"""What reached the simulated payers and what they took: the proof of exactly-once."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

TAKEN, CANCELLED = "taken", "cancelled"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One request: when, who, what became of it; numbers only, no persons."""

    at: datetime
    payer: str
    operation: str
    verdict: str
    lote: str | None = None
    protocol: str | None = None
    guides: tuple[str, ...] = ()
    answered: bool = True


class Ledger:
    """All entries in order, in memory and, line by line, in a file that a restart reads back."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._entries: list[LedgerEntry] = []
        self._taken: dict[tuple[str, str], LedgerEntry] = {}
        self._cancelled: set[tuple[str, str]] = set()
        self._guides: set[tuple[str, str]] = set()
        self._arrivals: Counter[tuple[str, str]] = Counter()
        self._protocols = 0
        for entry in _read(file) if file else ():
            self._remember(entry)

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Every request so far."""
        return tuple(self._entries)

    def record(self, entry: LedgerEntry) -> None:
        """Remember an entry; it is in the file before the answer leaves."""
        if self._file:
            with self._file.open("a", encoding="utf-8") as lines:
                lines.write(as_line(entry) + "\n")
        self._remember(entry)

    def taken(self, payer: str, lote: str) -> LedgerEntry | None:
        """The entry by which the payer took a batch, if it did and did not cancel it."""
        return self._taken.get((payer, lote))

    def was_cancelled(self, payer: str, lote: str) -> bool:
        """Whether the payer once took a batch and cancelled it."""
        return (payer, lote) in self._cancelled

    def by_protocol(self, payer: str, protocol: str) -> LedgerEntry | None:
        """The batch behind a protocol."""
        found = (entry for entry in self._taken.values() if entry.protocol == protocol)
        return next((entry for entry in found if entry.payer == payer), None)

    def has_guide(self, payer: str, guides: Iterable[str]) -> bool:
        """Whether one of these guides has been taken before."""
        return any((payer, guide) in self._guides for guide in guides)

    def arrivals(self, payer: str, lote: str) -> int:
        """How often a batch has arrived so far."""
        return self._arrivals[payer, lote]

    def times_taken(self) -> Counter[tuple[str, str]]:
        """How often each batch was taken, by payer and batch number: more than once is a fault."""
        return Counter((e.payer, e.lote) for e in self._entries if e.verdict == TAKEN and e.lote)

    def next_protocol(self) -> str:
        """A receipt number nobody has had yet."""
        self._protocols += 1
        return f"{900_000_000_000 + self._protocols}"

    def _remember(self, entry: LedgerEntry) -> None:
        self._entries.append(entry)
        if entry.lote is None:
            return
        key = (entry.payer, entry.lote)
        self._arrivals[key] += entry.operation == "loteGuiasWS"
        if entry.verdict == TAKEN:
            self._taken[key] = entry
            self._guides.update((entry.payer, guide) for guide in entry.guides)
            self._protocols = max(self._protocols, int(entry.protocol or 0) - 900_000_000_000)
        if entry.verdict == CANCELLED and (gone := self._taken.pop(key, None)):
            self._cancelled.add(key)
            self._guides.difference_update((entry.payer, guide) for guide in gone.guides)


def as_line(entry: LedgerEntry) -> str:
    """An entry as one line of JSON."""
    return json.dumps(asdict(entry) | {"at": entry.at.isoformat()})


def _read(file: Path) -> Iterable[LedgerEntry]:
    if not file.exists():
        return
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield LedgerEntry(**row | {"at": datetime.fromisoformat(row["at"]), "guides": tuple(row["guides"])})
