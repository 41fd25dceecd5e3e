"""What was measured: one contender on one database in one round."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entrant:
    """Who is measured, on how full a database."""

    contender: str
    stored: int = 0
    waiting: int = 0

    @property
    def is_filled(self) -> bool:
        """Whether claims are in the database before it begins."""
        return self.stored > 0 or self.waiting > 0

    def __str__(self) -> str:
        filled = {"stored": self.stored, "waiting": self.waiting}
        return ", ".join((self.contender, *(f"{n:,} {what}" for what, n in filled.items() if n)))


@dataclass(frozen=True, slots=True)
class Way:
    """The figures of a round, most of them per claim; None where nobody can tell.

    `said` names what the worker warned of.
    """

    entrant: Entrant
    database: str
    claims: int
    claims_per_second: float
    worker_ms: float
    broker_ms: float
    payer_ms: float
    commits: float
    looks: float
    http_calls: float
    payer_requests: float
    warnings: int
    said: str = ""
    files_per_second: float | None = None
    database_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None


ROWS = {
    "files/s in": "files_per_second",
    "claims/s": "claims_per_second",
    "p50 ms, file to protocol": "p50_ms",
    "p95 ms, file to protocol": "p95_ms",
    "worker, CPU ms per claim": "worker_ms",
    "broker, CPU ms per claim": "broker_ms",
    "database, CPU ms per claim": "database_ms",
    "payer, CPU ms per claim": "payer_ms",
    "commits per claim": "commits",
    "transactions that only read": "looks",
    "HTTP calls per claim": "http_calls",
    "of them at the payer": "payer_requests",
    "warnings of the worker": "warnings",
}
"""What a table says, and from which figure of a way."""
