"""What becomes of claims, payers and mails, as facts in the outbox of the transaction that makes it so."""

from datetime import datetime

from domain.events import payload
from domain.lifecycle_events import LifecycleEvent
from persistence.database.canonical import canonical
from persistence.repositories.outbox import OutboxEvent, event_id


def fact(event: LifecycleEvent, chain: str, at: datetime, *identity: object) -> OutboxEvent:
    """The event as it leaves; `identity` is what makes it this one among all of its type and chain."""
    name = type(event).__name__
    return OutboxEvent(event_id(chain, *identity, name), chain, name, canonical(payload(event)), at)


def mail_chain(outbox_id: str, claim_id: str) -> str:
    """Whose order a mail's facts keep: its claim's, or its own."""
    return claim_id or f"@mail:{outbox_id}"  # no claim's id begins like this
