"""Mail on a stage: a database, a mail server that follows a script, handlers, an engine that listens."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from domain.mail.mail import Mail
from domain.mail.retry import PROFILES
from gateways.mail.smtp import SmtpMail, SmtpServer
from gateways.practice.mail_server import Mailbox, mail_server
from gateways.zeebe.messages import ProcessMessage
from gateways.zeebe.refusals import CommandRefusedError
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.lanes import plain_lanes
from tests.support.mails import CIPHER
from tests.support.services import packaged_texts, services
from workers.app.observation_logs import log_observation
from workers.jobs import all_handlers
from workers.mail.queueing import MailQueue
from workers.mail.recipients import Recipients
from workers.mail.rendering import Renderer
from workers.mail.sending import MailSender, everybody_goes
from workers.mail.services import MailServices, attempt_terms
from workers.runtime import Job, JobHandler
from workers.runtime.outcome import Outcome

SENDER = "reenvio@hospital.example"
RECIPIENTS = Recipients(
    {
        "BILLING_MANAGEMENT": ("billing@hospital.example",),
        "REGISTRATION": ("registration@hospital.example",),
        "ADMINISTRATOR": ("admin@hospital.example",),
    },
    {"company-1": ("people@company.example",)},
)


@dataclass(slots=True)
class MovableClock:
    """A time that tests move."""

    at: datetime = NOW

    async def now(self) -> datetime:
        return self.at

    def pass_by(self, wait: timedelta) -> None:
        self.at += wait


@dataclass(slots=True)
class Published:
    """What the engine was told; it may be away."""

    messages: list[ProcessMessage] = field(default_factory=list)
    is_away: bool = False

    async def publish(self, message: ProcessMessage) -> bool:
        if self.is_away:
            raise CommandRefusedError("the engine is away")
        self.messages.append(message)
        return True


@dataclass(frozen=True, slots=True)
class MailStage:
    """Everything that mail needs, and what it left."""

    store: Store
    mailbox: Mailbox
    engine: Published
    clock: MovableClock
    mail: MailServices
    handlers: Sequence[JobHandler]

    async def run(
        self, job_type: str, *, key: int = 1, headers: dict[str, str] | None = None, **variables: Any
    ) -> Outcome:
        """Deliver a job to its handler."""
        [handler] = [one for one in self.handlers if one.type == job_type]
        return await handler.handle(Job(key, job_type, "Task", 1, 3, headers or {}, variables))

    async def notify(
        self, claim_id: str = "CLM-001-1", *, key: int = 1, template: str = "permanent-error"
    ) -> Outcome:
        """Deliver a notify job."""
        headers = {"recipientGroup": "BILLING_MANAGEMENT", "template": template}
        return await self.run("notify", key=key, headers=headers, claimId=claim_id)

    async def send(self, outbox_id: str) -> Outcome:
        """Deliver a send-email job."""
        return await self.run("send-email", outboxId=outbox_id)

    async def add(self, *mails: Mail) -> None:
        """Queue mails without a job."""
        async with self.store.transaction() as tx:
            for mail in mails:
                await tx.mails.add(mail)

    async def found(self, outbox_id: str) -> Mail:
        """The mail as it stands."""
        mail = await self.store.look(lambda tx: tx.mails.find(outbox_id))
        assert mail is not None
        return mail


@asynccontextmanager
async def mail_stage(store: Store, mailbox: Mailbox, **changes: Any) -> AsyncIterator[MailStage]:
    """A stage whose server is the mailbox's; `seconds` is an attempt's time, `profile` its retry profile.

    `recipients` are who gets mail, `admit` what limits it.
    """
    seconds, profile = changes.get("seconds", 5.0), PROFILES[changes.get("profile", "03")]
    clock, engine = MovableClock(), Published()
    async with mail_server(mailbox):
        gateway = SmtpMail(SmtpServer("127.0.0.1", mailbox.port, SENDER, "none", seconds=seconds))
        whom = changes.get("recipients", RECIPIENTS)
        renderer = Renderer(SENDER, whom, packaged_texts(), console_url="https://console.hospital.example")
        lanes = plain_lanes(store, clock)
        queue = MailQueue(store, CIPHER, engine.publish, "company-1", tell=lanes.source.queued)
        terms = attempt_terms(profile, seconds)
        sender = MailSender(
            store, clock, CIPHER, gateway, renderer, queue, terms, log_observation,
            admit=changes.get("admit", everybody_goes),
        )  # fmt: skip
        mail = MailServices(queue, sender, lanes, seconds)
        given = services(store, clock=clock, cipher=CIPHER, mail=mail)
        yield MailStage(store, mailbox, engine, clock, mail, all_handlers(given))
        await gateway.close()
