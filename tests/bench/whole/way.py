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

    `said` names what the workers warned of, and why they put jobs off. `sent_round` is how often a claim was
    told to come again by the engine's timer.
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
    sent_round: float = 0.0
    postponed: float = 0.0
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
    "sent round per claim": "sent_round",
    "jobs postponed per claim": "postponed",
    "warnings of the worker": "warnings",
}
"""What a table says, and from which figure of a way."""
