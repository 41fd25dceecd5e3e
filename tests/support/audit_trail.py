"""A trail of some days, and how tests about its attackers look at it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.errors import Trouble
from persistence.audit.chain import AuditEvent
from persistence.audit.checkpoints import Checkpoint
from persistence.audit.verification import AuditProblem
from persistence.store import Store
from tests.support.audit_attacker import Attacker
from tests.support.builders import REFUSAL, draft, later
from workers.upkeep.retention import set_due_anchors

OTHER = "CLM-002-2"
END = later(days=3, hours=10)
"""When the third day is over and its anchor due, but not overdue."""


@pytest.fixture
def attacker(database: AsyncEngine) -> Attacker:
    return Attacker(database)


@pytest.fixture
async def trail(store: Store) -> Store:
    """Two days with claims, both anchored, and a third that is not."""
    for day in range(3):
        await set_due_anchors(store, later(days=day))
        await store.record(draft(count=day, now=later(days=day)))
        await store.record(draft(OTHER if not day else f"CLM-9-{day}", error=REFUSAL, now=later(days=day)))
    assert await problems(store) == []
    return store


async def problems(
    store: Store, now: datetime = END, kept: Checkpoint | None = None
) -> Sequence[AuditProblem]:
    """What a verification finds."""
    async with store.reading() as tx:
        return [problem async for problem in tx.verification.problems(now, kept)]


async def night(store: Store, now: datetime = END) -> None:
    """What the daily job does, also where it refuses."""
    with suppress(Trouble):
        await set_due_anchors(store, now)


def hastened(event: AuditEvent) -> AuditEvent:
    """Something that follows from nothing else, so that deciding again does not show it."""
    return replace(event, data=event.data.replace('"executionTimeMs":7', '"executionTimeMs":1'))


def whats(found: Sequence[AuditProblem]) -> str:
    """All of it in one line."""
    return " | ".join(f"{problem.where}: {problem.what}" for problem in found)
