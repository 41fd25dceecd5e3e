"""The stage with mail: a real mail server, and a worker that sends to it."""

import dataclasses
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from gateways.practice.mail_server import Mailbox
from tests.process.stage import Stage
from workers.app.mail import MailGround, mail_services, opened_gateway
from workers.config.fairness import FairnessSettings
from workers.config.mail import MailSettings
from workers.config.settings import Settings

BILLING, ADMIN, COMPANY = "billing@hospital.example", "admin@hospital.example", "people@company.example"
NO_PACE = FairnessSettings(per_minute=100_000, company_per_minute=100_000)


@asynccontextmanager
async def mailing(stage: Stage, mailbox: Mailbox, folder: Path) -> AsyncIterator[Stage]:
    """The stage while a worker sends its mail, of a company of its own, to this mailbox's server."""
    server = {"smtp_host": "127.0.0.1", "smtp_port": mailbox.port, "smtp_security": "none"}
    async with mailing_by(stage, server, folder) as there:
        yield there


@asynccontextmanager
async def mailing_by(
    stage: Stage, server: Mapping[str, Any], folder: Path, fairness: FairnessSettings = NO_PACE
) -> AsyncIterator[Stage]:
    """The same, by a server that these settings of mail name, and within these limits."""
    settings = _settings(stage, server, folder).model_copy(update={"fairness": fairness})
    async with opened_gateway(settings) as gateway:
        app = stage.app
        ground = MailGround(app.store, app.clock, app.cipher, gateway, app.commands.publish)
        there = dataclasses.replace(
            stage, app=dataclasses.replace(app, mail=mail_services(settings, ground)), settings=settings
        )
        async with there.worker():
            yield there


def _settings(stage: Stage, server: Mapping[str, Any], folder: Path) -> Settings:
    company, companies = f"company-{uuid4().hex[:8]}", folder / "companies.toml"
    companies.write_text(f'{company} = ["{COMPANY}"]\n', encoding="utf-8")
    mail = MailSettings(
        **server,
        sender="reenvio@hospital.example",
        to_registration=("registration@hospital.example",),
        to_billing_management=(BILLING,),
        to_operations=("operations@hospital.example",),
        to_administrator=(ADMIN,),
        companies_file=companies,
        company_id=company,
        console_url="https://console.hospital.example",
        timeout_seconds=10,
    )
    return stage.settings.model_copy(update={"mail": mail})
