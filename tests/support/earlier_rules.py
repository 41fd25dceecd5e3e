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


def _without_number(event: AuditDraft) -> AuditDraft:
    data = json.loads(event.data)
    data.pop("rulesVersion", None)
    return replace(event, data=canonical(data)) if event.event == RECEIVED else event


async def record_as_before(database: AsyncEngine, given: DecisionDraft) -> None:
    """Write the decision's trail as the version before did."""
    async with database.begin() as connection:
        await Policies(connection).keep([given.policy], now=NOW)
        await Audit(connection, SEALS).append(seal_all(map(_without_number, trail_of(given, 1)), Head()))
