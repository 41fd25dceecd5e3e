"""Decisions written as a version with other rules' code wrote them."""

import json
from dataclasses import replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.audit.chain import AuditDraft, Head, seal_all
from persistence.audit.events import Audit
from persistence.audit.trail import RECEIVED, trail_of
from persistence.database.canonical import canonical
from persistence.repositories.draft import DecisionDraft
from persistence.repositories.policies import Policies
from tests.support.builders import NOW, draft
from tests.support.databases import SEALS


def said_otherwise(**asked: Any) -> DecisionDraft:
    """A retry of what is permanent by today's rules."""
    given = draft(**asked)
    return replace(given, decision=replace(given.decision, last_error="HTTP_401"))


def said_in_full(error: str, told: str) -> DecisionDraft:
    """A decision about an error whose redacted text is still told."""
    given = draft(error=error)
    return replace(given, decision=replace(given.decision, last_error=told))


def _with_number(event: AuditDraft, version: int | None) -> AuditDraft:
    data = json.loads(event.data) | {"rulesVersion": version}
    if version is None:
        del data["rulesVersion"]
    return replace(event, data=canonical(data)) if event.event == RECEIVED else event


async def record_as_before(
    database: AsyncEngine, given: DecisionDraft, *, version: int | None = None
) -> None:
    """Write the decision's trail as an earlier version did; the first did not say its number."""
    trail = [_with_number(event, version) for event in trail_of(given, 1)]
    async with database.begin() as connection:
        await Policies(connection).keep([given.policy], now=NOW)
        await Audit(connection, SEALS).append(seal_all(trail, Head()))
