"""The console beside a worker, or alone."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import structlog
from argon2 import PasswordHasher
from starlette.applications import Starlette

from domain.access import Role
from gateways.clock import WallClock
from persistence.repositories.people import NewPerson
from workers.app.composition import App
from workers.app.http_server import Place, PortError, serving
from workers.app.probes import probed
from workers.app.reviewing import bulk_desk, bulk_runner, claim_reviews, policy_room
from workers.app.serving import api_probes, stop_on_signal
from workers.claims.deadlines import ClaimDeadlines
from workers.claims.steering import ClaimSteering
from workers.config.cluster import connection_from
from workers.config.console import USUAL_PORT, ConsoleSettings
from workers.config.settings import Settings
from workers.console.access.entrance import Entrance
from workers.console.access.passwords import Passwords
from workers.console.access.people import PeopleDesk
from workers.console.access.provider_entrance import provider_entrance
from workers.console.pages.visit import Console
from workers.console.routes import console_app
from workers.mail.redrive_runs import RedriveRuns
from workers.policy.following import following
from workers.runtime.beside import beside
from workers.runtime.loop_watch import watched_loop
from workers.upkeep.payer_steering import PayerSteering

LOCAL = "local"
LOCAL_ROLES = frozenset(Role) - {Role.AUDITOR}
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Served:
    """Where people find the console, and what it works with."""

    address: str
    console: Console


def console_of(app: App) -> Console:
    """What pages work with, of the open application."""
    settings = app.settings.console
    entrance = Entrance(app.store, Passwords(PasswordHasher()), settings, WallClock())
    return Console(
        store=app.store,
        clock=app.clock,
        zone=app.policy.current().zone,
        settings=settings,
        entrance=entrance,
        limits=app.payer_limits,
        steering=ClaimSteering(app.store, app.commands, app.clock),
        deadlines=ClaimDeadlines(app.store, app.commands, app.clock, app.policy.current),
        reviews=claim_reviews(app),
        bulk=bulk_desk(app),
        payers=PayerSteering(app.store, app.payer_limits, app.waker(), app.clock),
        mail=app.mail.queue,
        redrives=RedriveRuns(),
        policies=policy_room(app),
        provider=provider_entrance(entrance, settings),
    )


@asynccontextmanager
async def serving_console(app: App) -> AsyncIterator[Served]:
    """Serve the console while the block runs, and carry out what people order of many claims."""
    console = console_of(app)
    settings = console.settings
    async with beside(bulk_runner(app).run()), _listening(console_app(console), settings) as port:
        address = settings.base_url or f"http://{settings.host}:{port}"
        log.info("console_started", host=settings.host, port=port)
        try:
            yield Served(address, console)
        finally:
            await console.redrives.close()
            await console.policies.runs.close()
    log.info("console_stopped")


@asynccontextmanager
async def _listening(app: Starlette, settings: ConsoleSettings) -> AsyncIterator[int]:
    """On the port that is set; where none is, on the usual one or, if that is taken, on a free one."""
    async with AsyncExitStack() as stack:
        wanted = USUAL_PORT if settings.port is None else settings.port
        try:
            port = await stack.enter_async_context(serving(app, _place(settings, wanted)))
        except PortError:
            if settings.port is not None:
                raise
            port = await stack.enter_async_context(serving(app, _place(settings, 0)))
        yield port


def _place(settings: ConsoleSettings, port: int) -> Place:
    return Place(settings.host, port, "CONSOLE_PORT")


async def serve_console_alone(app: App, tell: Callable[[str], None]) -> None:
    """Serve until a signal, without a worker in the same process; its address is told."""
    with stop_on_signal() as stop:
        async with (
            watched_loop(app.listener),
            following(app.follower),
            probed(app.settings.probes, api_probes(app)),
            serving_console(app) as served,
        ):
            tell(served.address)
            await stop.wait()


async def local_link(served: Served, settings: Settings, who: str) -> str | None:
    """A link that lets this machine's user in once; only where engine and database are our own, and here.

    Elsewhere people come in by names of their own, which an admin gives them.
    """
    if settings.database_url or connection_from(settings.cluster) or not settings.console.is_loopback:
        return None
    return await offered_link(served, who)


async def offered_link(served: Served, who: str) -> str | None:
    """A link that lets this machine's user in once, with all roles that one person may have."""
    store, entrance = served.console.store, served.console.entrance
    if not await store.look(lambda tx: tx.people.find(LOCAL)):
        new = NewPerson(LOCAL, who, LOCAL_ROLES)
        await PeopleDesk(store, who).add(new, await entrance.clock.now())
    person = await store.look(lambda tx: tx.people.find(LOCAL))
    if person is None or person.disabled_at:
        return None
    return f"{served.address}/login/link?token={await entrance.offer_link(person)}"
