"""The console with a login provider, and browsers that come to it by https."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx

from persistence.store import Store
from tests.support.console_stage import ConsoleStage, console_stage
from tests.support.openid import ADDRESS, CLIENT_ID, CLIENT_SECRET
from workers.console.routes import console_app

ROLES = {"fat": "billing", "x": ["quality"], "auditoria": "auditor"}


@asynccontextmanager
async def browser_of(stage: ConsoleStage, place: str = "10.0.0.1") -> AsyncIterator[httpx.AsyncClient]:
    """A browser with a jar of its own."""
    transport = httpx.ASGITransport(console_app(stage.console), client=(place, 1))
    async with httpx.AsyncClient(transport=transport, base_url=ADDRESS) as opened:
        yield opened


def stage_with(store: Store, issuer: str, **settings: object) -> ConsoleStage:
    """The console, registered with the provider of this name."""
    given: dict[str, Any] = {
        "base_url": ADDRESS,
        "oidc_issuer": issuer,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret": CLIENT_SECRET,
        "oidc_roles": ROLES,
        "oidc_name": "Hospital",
    }
    stage = console_stage(store, **(given | settings))
    stage.clock.moment = datetime.now(UTC)  # the provider lives by the wall's clock
    return stage
