"""Mail as the settings ask for it: by SMTP, by SES, or into a folder of our home."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from domain.mail.retry import PROFILES
from domain.mail.sending import MailGateway
from domain.observations import Observe, nobody_watches
from domain.ports import Clock
from gateways.mail.folder import FolderMail
from gateways.mail.ses import SesAccount, SesMail
from gateways.mail.smtp import SmtpMail, SmtpServer
from gateways.zeebe.messages import Publish
from persistence.encryption.cipher import Cipher
from persistence.store import Store
from workers.app.recipients import recipients
from workers.config.mail import MailSettings
from workers.config.settings import Settings, SettingsError
from workers.mail.fair_lanes import FairLanes, LaneNeeds, fair_lanes
from workers.mail.queueing import MailQueue
from workers.mail.rendering import Renderer, read_texts
from workers.mail.sending import MailSender
from workers.mail.services import MailServices, attempt_terms

FOLDER = "mail"


@asynccontextmanager
async def opened_gateway(settings: Settings) -> AsyncIterator[MailGateway]:
    """What sends mail; its connections are opened when there is mail."""
    settings.mail.require_fit()
    gateway = _gateway(settings)
    try:
        yield gateway
    finally:
        await gateway.close()


def mail_folder(settings: Settings) -> Path:
    """Where mail is written when it does not leave."""
    return settings.mail.folder or settings.home / FOLDER


def _gateway(settings: Settings) -> MailGateway:
    mail = settings.mail
    if mail.ses_region:
        account = SesAccount(
            mail.sender, mail.ses_region, mail.ses_endpoint, mail.timeout_seconds, settings.fairness.at_once
        )
        return SesMail(account)
    if mail.smtp_host:
        return SmtpMail(_server(mail, settings.fairness.at_once))
    return FolderMail(mail_folder(settings), mail.sender)


def _server(mail: MailSettings, connections: int) -> SmtpServer:
    return SmtpServer(
        host=mail.smtp_host or "",
        port=mail.smtp_port,
        sender=mail.sender,
        security=mail.smtp_security,
        username=mail.smtp_username,
        password=mail.smtp_password.get_secret_value() if mail.smtp_password else None,
        seconds=mail.timeout_seconds,
        connections=connections,
        trusted=_trusted(mail.smtp_ca_file),
    )


def _trusted(authorities: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authorities and str(authorities))
    except OSError as error:
        raise SettingsError(f"MAIL_SMTP_CA_FILE: {authorities} cannot be used ({error.strerror}).") from error


@dataclass(frozen=True, slots=True)
class MailGround:
    """What mail stands on: the database, its clock and cipher, the gateway, and the way to the engine."""

    store: Store
    clock: Clock
    cipher: Cipher
    gateway: MailGateway
    publish: Publish
    observe: Observe = nobody_watches


def mail_services(settings: Settings, ground: MailGround) -> MailServices:
    """The queue, who sends from it, and in which order."""
    mail, lanes = settings.mail, _lanes(settings, ground)
    queue = MailQueue(
        store=ground.store,
        cipher=ground.cipher,
        publish=ground.publish,
        company_id=mail.company_id,
        language=mail.language,
        lanes=mail.lanes,
        tell=lanes.source.queued,
    )
    sender = MailSender(
        store=ground.store,
        clock=ground.clock,
        cipher=ground.cipher,
        gateway=ground.gateway,
        renderer=Renderer(mail.sender, recipients(mail), read_texts(mail.templates), mail.console_url),
        queue=queue,
        terms=attempt_terms(PROFILES[mail.retry_profile], mail.timeout_seconds),
        observe=ground.observe,
        admit=lanes.limits.admit,
    )
    cool_downs = {code: timedelta(minutes=given) for code, given in mail.redrive_after_minutes.items()}
    return MailServices(queue, sender, lanes, mail.timeout_seconds, settings.fairness.at_once, cool_downs)


def _lanes(settings: Settings, ground: MailGround) -> FairLanes:
    return fair_lanes(settings.fairness, settings.mail.lanes, LaneNeeds(ground.store, ground.clock))
