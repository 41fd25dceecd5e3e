"""What the processes of a round have spent and done so far, and what of it falls to one claim."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.bench.cores import cpu_seconds
from tests.bench.whole.watched import COUNTED, read_counts

Reading = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Meter:
    """The processes whose time is counted, and each worker's own counts; SQLite has no process."""

    workers: Mapping[int, Path]
    broker: int
    payer: int
    database: int | None

    def read(self) -> Reading:
        """Processor milliseconds of each, and what the workers have counted."""
        pids = {"broker_ms": self.broker, "payer_ms": self.payer}
        pids |= {"database_ms": self.database} if self.database else {}
        spent = {name: cpu_seconds(pid) * 1e3 for name, pid in pids.items()}
        spent["worker_ms"] = sum(cpu_seconds(pid) for pid in self.workers) * 1e3
        counted = [read_counts(file) for file in self.workers.values()]
        return spent | {name: float(sum(one[name] for one in counted)) for name in COUNTED}


def between(before: Reading, after: Reading) -> Reading:
    """What was spent and done from one reading to the next."""
    return {name: value - before[name] for name, value in after.items()}


def per_claim(spent: Reading, claims: int) -> Reading:
    """The part of one claim."""
    return {name: value / claims for name, value in spent.items()}
