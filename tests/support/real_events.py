"""Holds every event in an outbox against the schema of its type and of the envelope."""

import json
from collections import Counter
from collections.abc import Mapping

from jsonschema import Draft202012Validator, FormatChecker

from gateways.event_schemas import ENVELOPE, schema
from gateways.sink import OutgoingEvent
from persistence.store import Store

MANY = 10_000


async def checked_events(store: Store) -> Mapping[str, int]:
    """How many events of each type there are; each fits its schema and has no field beyond it."""
    waiting = await store.look(lambda tx: tx.outbox.unpublished(MANY))
    for event in waiting:
        outgoing = OutgoingEvent(
            event.event_id, event.claim_id, event.type, event.payload, event.created_at
        ).fields()
        _check(ENVELOPE, outgoing)
        _check(event.type, json.loads(event.payload))
    return Counter(event.type for event in waiting)


def _check(name: str, value: Mapping[str, object]) -> None:
    wanted = dict(schema(name))
    Draft202012Validator(wanted, format_checker=FormatChecker()).validate(value)
    assert set(value) <= set(wanted["properties"]), name
