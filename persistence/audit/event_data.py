"""What an event tells, also where somebody else wrote it."""

import json
from typing import Any

from persistence.audit.chain import AuditEvent


def event_data(event: AuditEvent) -> dict[str, Any]:
    """Its data; empty where it cannot be read."""
    try:
        found = json.loads(event.data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
