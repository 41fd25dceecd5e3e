"""The hash chain of one claim's audit events: each seals itself and the one before it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from persistence.database.canonical import fingerprint

GENESIS = "0" * 64


@dataclass(frozen=True, slots=True)
class AuditDraft:
    """An event before it has its place in the chain; `data` is canonical JSON."""

    claim_id: str
    event: str
    at: datetime
    job_key: int
    data: str


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """An event in its place; its number among all events and its keyed seal come with its row."""

    claim_id: str
    sequence: int
    event: str
    at: datetime
    job_key: int
    data: str
    previous_hash: str
    hash: str
    event_id: int = 0
    seal: str | None = None
    seal_key: str | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """Where a claim's chain ends, and when; a claim without events ends at GENESIS."""

    sequence: int = 0
    hash: str = GENESIS
    at: datetime | None = None


def seal(draft: AuditDraft, head: Head) -> AuditEvent:
    """Append a draft to a chain."""
    sequence = head.sequence + 1
    return AuditEvent(
        claim_id=draft.claim_id,
        sequence=sequence,
        event=draft.event,
        at=draft.at,
        job_key=draft.job_key,
        data=draft.data,
        previous_hash=head.hash,
        hash=_hash(draft, sequence, head.hash, str(draft.job_key)),
    )


def seal_all(drafts: Iterable[AuditDraft], head: Head) -> Sequence[AuditEvent]:
    """Append several drafts, one after the other."""
    sealed: list[AuditEvent] = []
    for draft in drafts:
        sealed.append(seal(draft, head))
        head = Head(sealed[-1].sequence, sealed[-1].hash)
    return sealed


def message_form(event: AuditEvent) -> dict[str, object]:
    """An event for the message queue: all that it seals, so that its hash can be checked there."""
    return {
        "sequence": event.sequence,
        "event": event.event,
        "at": _moment(event.at),
        "jobKey": str(event.job_key),
        "data": event.data,
        "previousHash": event.previous_hash,
        "hash": event.hash,
    }


def is_sealed(event: AuditEvent) -> bool:
    """Whether an event still is what it was when it was sealed."""
    draft = AuditDraft(event.claim_id, event.event, event.at, event.job_key, event.data)
    forms = (str(event.job_key), event.job_key)  # earlier versions sealed the number
    return event.hash in [_hash(draft, event.sequence, event.previous_hash, key) for key in forms]


def _hash(draft: AuditDraft, sequence: int, previous_hash: str, key: str | int) -> str:
    """The key as text: keys pass 2^53, where other readers of JSON round a number."""
    at = _moment(draft.at)
    return fingerprint([previous_hash, draft.claim_id, sequence, draft.event, at, key, draft.data])


@lru_cache(maxsize=64)  # a decision's events are all of one moment, told twice each
def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")
