"""Dead letters on a real broker with a real mail server and a worker; `reenvio dlq` as a person runs it."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from gateways.practice.mail_server import Mailbox, Reply, mail_server
from gateways.zeebe import engine
from persistence.database.engine import sqlite_url
from persistence.encryption.keys import made_cipher
from tests.support.at_work import at_work
from tests.support.command_line import environment, run_reenvio
from tests.support.mails import keep_dead
from workers.app.cluster import embedded
from workers.app.composition import App, running
from workers.app.databases import migrate_database
from workers.config.fairness import FairnessSettings
from workers.config.mail import MailSettings
from workers.config.settings import Settings
from workers.mail.queueing import LEFT_BEHIND

LOOK_SECONDS, PATIENCE_SECONDS = 0.05, 120.0
WHY = ("--reason", "the mail server was mended")
NO_MAILBOX = Reply("550 5.1.1 no such mailbox")
PEOPLE = ("people@hospital.example",)


@dataclass(frozen=True, slots=True)
class RedriveScene:
    """The application with a worker on it, the mail server, and where commands find both."""

    app: App
    mailbox: Mailbox
    environment: Mapping[str, str]

    async def die(self, number: int, *, ago: timedelta = timedelta()) -> None:
        """So many dead letters, whose addresses are number-0@ and so on, in this order."""
        at = await self.app.clock.now() - ago
        await keep_dead(self.app.store, range(number), cipher=self.app.cipher, at=at)

    def refuse(self, numbers: range) -> None:
        """From now on the server knows no mailbox of these, and every other."""
        unknown = {f"number-{number}@hospital.example" for number in numbers}
        self.mailbox.script = lambda address, _attempt: NO_MAILBOX if address in unknown else None

    async def started(self, *options: str) -> asyncio.subprocess.Process:
        """`reenvio dlq redrive` with a reason, under way."""
        command = (sys.executable, "-m", "workers.cli", "dlq", "redrive", *options, *WHY)
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *command, env=self.environment, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )

    async def redrive(self, *options: str) -> tuple[int, str, str]:
        """The same to its end: exit code, what it said, and what beside."""
        done = await run_reenvio(self.environment, "dlq", "redrive", *options, *WHY)
        return done.returncode, done.stdout, done.stderr

    @property
    def copies(self) -> Counter[str]:
        """How often each mail arrived, by its address, but for notices about dead letters."""
        return Counter(one.to[0] for one in self.mailbox.arrived if one.to[0].startswith("number-"))

    async def arrive(self, number: int) -> None:
        """Wait until so many have arrived."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.copies) < number:
                await asyncio.sleep(LOOK_SECONDS)

    async def letters(self) -> int:
        """How many dead letters there are."""
        return await self.app.store.look(lambda tx: tx.dead_letters.count())

    async def none_is_left(self) -> None:
        """Wait until there is no dead letter; what a killed redrive did not start, upkeep starts."""
        soon = await self.app.clock.now() + 2 * LEFT_BEHIND
        await self.app.mail.queue.start_left_behind(soon)
        await self.letters_fall_to(0)

    async def letters_fall_to(self, number: int) -> None:
        """Wait until there are no more than so many."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self.letters() > number:
                await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def redrive_scene(
    broker: engine.RunningEngine, engine_home: Path, folder: Path, *, at_once: int = 5, **changes: Any
) -> AsyncIterator[RedriveScene]:
    """The scene on a running broker, with an SQLite file and a key of its own; `changes` of mail settings."""
    async with mail_server(Mailbox()) as mailbox:
        address = sqlite_url(folder / "test.db")
        mail = _mail(mailbox.port, changes)
        fairness = _without_a_pace(at_once)
        settings = Settings(home=folder, database_url=address, mail=mail, fairness=fairness)
        await migrate_database(settings)
        made_cipher(folder)
        given = environment(folder, DATABASE_URL=address, ENGINE_HOME=str(engine_home), COLUMNS="200")
        async with running(settings, embedded(broker)) as app:
            await app.deploy()
            async with at_work(app, "redrive"):
                yield RedriveScene(app, mailbox, given)


def _without_a_pace(at_once: int) -> FairnessSettings:
    """No pace but that of the server."""
    return FairnessSettings(
        at_once=at_once, company_at_once=at_once, per_minute=100_000, company_per_minute=100_000
    )


def _mail(port: int, changes: Mapping[str, Any]) -> MailSettings:
    return MailSettings(
        smtp_host="127.0.0.1",
        smtp_port=port,
        smtp_security="none",
        sender="reenvio@hospital.example",
        to_registration=PEOPLE,
        to_billing_management=PEOPLE,
        to_operations=PEOPLE,
        to_administrator=PEOPLE,
        timeout_seconds=5,
        **changes,
    )
