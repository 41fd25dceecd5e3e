"""The daily process on a real broker with a real mail server: KPIs are kept, control reports arrive."""

import dataclasses
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from bpmn.names import ProcessId, Team
from domain.claim_state import ClaimState
from domain.kpis.definitions import KpiName
from domain.kpis.periods import Frequency, latest_complete
from gateways.practice.mail_server import Mailbox, mail_server
from gateways.practice.scripted import AcceptLine, FailLine
from tests.process.stage import Claim, Stage, eventually
from workers.app.mail import MailGround, mail_services, opened_gateway
from workers.config.mail import MailSettings
from workers.config.settings import Settings
from workers.mail.recipients import ReportGroup
from workers.upkeep.report_mail import report_id
from workers.upkeep.reports import ReportKind

BAD_PROCEDURE = FailLine(error="INVALID_PROCEDURE_CODE", code="TISS:1801")
TIMEOUT = FailLine(error="TIMEOUT - no answer")
DATA = "data@hospital.example"


@dataclass(frozen=True)
class Reporting:
    """The stage with a worker that sends mail, and where it arrives."""

    stage: Stage
    mailbox: Mailbox

    async def a_day_passes(self) -> None:
        """The timer fires, and its instance ends."""
        records, process = self.stage.records, ProcessId.MAINTENANCE_KPI
        before = len(records.ended(process))
        await self.stage.clock.advance(timedelta(days=1, seconds=1))

        async def look() -> bool | None:
            return len(records.ended(process)) > before or None

        await eventually(look, "the reports")

    async def arrives(self, address: str, words: str) -> str:
        """The mail to an address with these words, once it is there."""

        async def look() -> str | None:
            found = [one for one in self.mailbox.arrived if one.to == (address,) and words in one.text]
            return found[-1].text if found else None

        return await eventually(look, f"a mail to {address} with {words}")


@pytest.fixture
async def reporting(stage: Stage) -> AsyncIterator[Reporting]:
    async with mail_server(Mailbox()) as mailbox:
        settings = _settings(stage, mailbox.port)
        async with opened_gateway(settings) as gateway:
            app = stage.app
            ground = MailGround(app.store, app.clock, app.cipher, gateway, app.commands.publish)
            mailing = dataclasses.replace(app, mail=mail_services(settings, ground))
            there = dataclasses.replace(stage, app=mailing)
            async with there.worker():
                yield Reporting(there, mailbox)


def _settings(stage: Stage, port: int) -> Settings:
    mail = MailSettings(
        smtp_host="127.0.0.1",
        smtp_port=port,
        smtp_security="none",
        sender="reenvio@hospital.example",
        to_registration=("registration@hospital.example",),
        to_billing_management=("management@hospital.example",),
        to_operations=("operations@hospital.example",),
        to_administrator=("admin@hospital.example",),
        to_data_analysis=(DATA,),
        to_billing=("billing@hospital.example",),
        to_it_management=("it@hospital.example",),
        console_url="https://console.hospital.example",
    )
    return stage.settings.model_copy(update={"mail": mail})


async def saved_by_a_retry(stage: Stage) -> Claim:
    claim = await stage.start(TIMEOUT, AcceptLine())
    await stage.pass_the_wait(claim)
    await stage.reaches(claim, ClaimState.ACCEPTED)
    return claim


async def test_a_claim_that_a_retry_saves_is_kept_as_it_would_be_made_anew(working: Stage) -> None:
    claim, store = await saved_by_a_retry(working), working.app.store
    kept = await store.look(lambda tx: tx.first_rounds.find(claim.id.value))
    assert kept is not None
    assert kept.recovery is not None
    assert kept.recovery.retries_sent == 1
    assert kept.recovery.since_send_us > kept.recovery.since_failure_us > 4 * 60 * 1_000_000
    await store.run(lambda tx: tx.first_rounds.rebuild([claim.id.value]))
    assert await store.look(lambda tx: tx.first_rounds.find(claim.id.value)) == kept


@pytest.mark.timeout(300)
async def test_each_day_the_kpis_are_counted_and_the_reports_arrive_once(reporting: Reporting) -> None:
    stage, store = reporting.stage, reporting.stage.app.store
    saved = await saved_by_a_retry(stage)
    refused = await stage.start(BAD_PROCEDURE)
    await stage.reaches(refused, ClaimState.IN_REVIEW)
    await reporting.a_day_passes()
    text = await reporting.arrives(DATA, refused.id.value)
    assert "erro permanente" in text
    assert f"https://console.hospital.example/claims/{refused.id}" in text
    assert saved.id.value not in text
    await reporting.arrives("billing@hospital.example", "Revisão diária de máximos excedidos")

    now, zone = await stage.clock.now(), stage.app.policy.current().zone
    latest = {one.kpi: one for one in await store.look(lambda tx: tx.kpi_snapshots.latest(now=now))}
    assert latest[KpiName.SUCCESS_AFTER_RETRY].measure.numerator >= 1
    week = latest_complete(Frequency.WEEKLY, now, zone)
    weekly = [
        report_id(ReportKind.FAILURES, Team.BILLING_MANAGEMENT, week),
        report_id(ReportKind.EFFECTIVENESS, ReportGroup.IT_MANAGEMENT, week),
    ]
    assert set(await store.look(lambda tx: tx.mails.states(weekly))) == set(weekly)
    day = latest_complete(Frequency.DAILY, now, zone)
    unset = report_id(ReportKind.PERMANENT, ReportGroup.QUALITY, day)
    assert await store.look(lambda tx: tx.mails.find(unset)) is None

    await reporting.a_day_passes()
    await reporting.arrives(DATA, "Nada a relatar no período.")
    mine = [one for one in reporting.mailbox.arrived if refused.id.value in one.text and one.to == (DATA,)]
    assert len(mine) == 1
