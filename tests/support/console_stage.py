"""The console as the real application on a real database, with people who come in by its own login page."""

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from zoneinfo import ZoneInfo

import httpx
from argon2 import PasswordHasher

from domain.access import Role
from domain.intake import IntakeTerms
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.people import NewPerson, Person
from persistence.store import Store
from tests.support.builders import NOW, POLICY
from tests.support.intake_stage import HandClock
from tests.support.mails import CIPHER
from workers.claims.batches import Batches
from workers.claims.bulk_desk import BulkDesk
from workers.claims.bulk_runner import BulkRunner
from workers.claims.deadlines import ClaimDeadlines
from workers.claims.examination import Channels, Reader
from workers.claims.incidents import StuckClaims
from workers.claims.intake import Intake
from workers.claims.messages import ClaimMessages
from workers.claims.protocols import Protocols
from workers.claims.reviewing import ClaimReviews
from workers.claims.steering import ClaimSteering
from workers.config.console import ConsoleSettings
from workers.config.idempotency import IdempotencySettings
from workers.console.access.entrance import Entrance
from workers.console.access.passwords import Passwords
from workers.console.access.people import PeopleDesk
from workers.console.access.provider_entrance import provider_entrance
from workers.console.pages.visit import Console
from workers.console.routes import console_app
from workers.mail.queueing import MailQueue
from workers.mail.redrive_runs import RedriveRuns
from workers.payers.limits import LimitsByPayer
from workers.payers.waking import Waker
from workers.policy import PolicySource
from workers.upkeep.payer_steering import PayerSteering
from workers.upkeep.policy_desk import PolicyDesk
from workers.upkeep.policy_trials import PolicyTrials
from workers.upkeep.trial_runs import PolicyRoom, TrialRuns

PASSWORD = "correct horse battery"
ZONE = ZoneInfo("America/Sao_Paulo")
NOWHERE = Plaintext("127.0.0.1:1")
BASE = "http://127.0.0.1"
MAX_BYTES = 100_000
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')


@dataclass(frozen=True, slots=True)
class ConsoleStage:
    """The console, its clock, and browsers for it."""

    console: Console
    clock: HandClock
    engine: ZeebeCommands

    def runner(self) -> BulkRunner:
        """What carries orders about many claims out, in a process of its own."""
        return BulkRunner(self.store, self.console.reviews, StuckClaims(self.store, self.engine), self.clock)

    @property
    def store(self) -> Store:
        return self.console.store

    @asynccontextmanager
    async def browser(self, *, address: str = "10.0.0.1") -> AsyncIterator[httpx.AsyncClient]:
        """A browser with a jar of its own; it follows no redirect by itself."""
        transport = httpx.ASGITransport(console_app(self.console), client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as opened:
            yield opened

    @asynccontextmanager
    async def logged_in(self, *roles: Role, login: str = "ana") -> AsyncIterator[httpx.AsyncClient]:
        """A browser of somebody with these roles, who came in by the form."""
        await self.person(login, roles)
        async with self.browser() as browser:
            assert (await log_in(browser, login)).status_code == 303
            yield browser

    async def person(self, login: str, roles: Iterable[Role], **given: str) -> Person:
        """Somebody who may come in with PASSWORD."""
        hashed = await self.console.entrance.passwords.hashed(PASSWORD)
        name, language = given.get("name", "Ana Souza"), given.get("language", "pt")
        new = NewPerson(login, name, frozenset(roles), password_hash=hashed, language=language)
        await PeopleDesk(self.store, "a test").add(new, self.clock.moment)
        found = await self.store.look(lambda tx: tx.people.find(login))
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class Outside:
    """What the console reaches beside its database; by itself nothing answers, and payers have no pace."""

    commands: ZeebeCommands | None = None
    channels: Channels = field(default_factory=dict)
    limits: LimitsByPayer = field(default_factory=LimitsByPayer)

    @property
    def engine(self) -> ZeebeCommands:
        return self.commands or ZeebeCommands(open_channel(NOWHERE))


def console_stage(
    store: Store, commands: ZeebeCommands | None = None, *, outside: Outside | None = None, **settings: object
) -> ConsoleStage:
    """The console on a store, with passwords that are quick to reckon; without `commands` no engine."""
    clock, given = HandClock(NOW), ConsoleSettings.model_validate(settings)
    around = outside or Outside(commands)
    passwords = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    engine, limits = around.engine, around.limits
    entrance = Entrance(store, passwords, given, clock)
    console = Console(
        store=store,
        clock=clock,
        zone=ZONE,
        settings=given,
        entrance=entrance,
        limits=limits,
        steering=ClaimSteering(store, engine, clock),
        deadlines=ClaimDeadlines(store, engine, clock, lambda: POLICY),
        reviews=_reviews(store, engine, around, clock),
        bulk=BulkDesk(store, around.limits, clock),
        payers=PayerSteering(store, limits, Waker(store, limits), clock),
        mail=MailQueue(store, CIPHER, engine.publish, "company-1"),
        redrives=RedriveRuns(),
        policies=policy_room(store, limits, clock),
        provider=provider_entrance(entrance, given),
    )
    return ConsoleStage(console, clock, engine)


def policy_room(store: Store, limits: LimitsByPayer, clock: HandClock) -> PolicyRoom:
    """Policies on a store, the packaged one where none was adopted."""
    desk, trials = PolicyDesk(store, PolicySource(), clock), PolicyTrials(store, clock, limits)
    return PolicyRoom(desk, trials, TrialRuns(), IdempotencySettings())


def _reviews(store: Store, engine: ZeebeCommands, around: Outside, clock: HandClock) -> ClaimReviews:
    cipher = cipher_of(new_key("k1"))
    reader = Reader(around.channels, IntakeTerms(MAX_BYTES, timedelta(hours=48), ZONE), cipher)
    intake = Intake(store, engine, clock, reader, Batches(around.channels, cipher))
    protocols = Protocols(store, around.limits, cipher, around.channels, clock)
    return ClaimReviews(store, ClaimMessages(store, engine), intake, protocols, clock)


def csrf_in(page: httpx.Response) -> str:
    """The token of a page's first form."""
    found = _CSRF.search(page.text)
    assert found, page.text
    return found[1]


async def log_in(
    browser: httpx.AsyncClient, login: str, password: str = PASSWORD, **fields: str
) -> httpx.Response:
    """Fill in the login form and send it."""
    token = csrf_in(await browser.get("/login"))
    return await browser.post("/login", data={"csrf": token, "login": login, "password": password, **fields})
