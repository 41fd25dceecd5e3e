"""Control reports by mail: to the roles that the rules name, once per period, also when there is nothing."""

from datetime import UTC, timedelta

import pytest

from domain.claim_state import ClaimState
from domain.kpis.periods import day_of
from domain.mail.mail import MailState
from gateways.practice.mail_server import Mailbox
from persistence.store import Store
from tests.support.builders import NOW, REFUSAL, draft
from tests.support.mail_stage import MailStage, mail_stage
from workers.mail.recipients import Recipients
from workers.mail.tables import plain_table
from workers.runtime.outcome import Complete
from workers.upkeep.report_words import PORTUGUESE
from workers.upkeep.reports import AskedReport, ReportKind, make_report

YESTERDAY = NOW - timedelta(days=1)
ALL = Recipients(
    {
        "DATA_ANALYSIS": ("data@hospital.example",),
        "QUALITY": ("quality@hospital.example",),
        "BILLING": ("billing@hospital.example",),
        "BILLING_MANAGEMENT": ("management@hospital.example",),
        "IT_MANAGEMENT": ("it@hospital.example",),
    }
)


async def arrived(stage: MailStage) -> dict[str, str]:
    """Deliver what was queued; the text by address."""
    for message in stage.engine.messages:
        await stage.send(str(message.variables["outboxId"]))
    return {one.to[0]: one.text for one in stage.mailbox.arrived}


async def test_each_role_of_the_rules_gets_its_report_and_is_told_of_nothing_too(store: Store) -> None:
    await store.record(draft("CLM-7-1", error=REFUSAL, now=YESTERDAY))
    async with mail_stage(store, Mailbox(), recipients=ALL) as stage:
        assert await stage.run("send-reports") == Complete({"processedCount": 5})
        texts = await arrived(stage)
    assert set(texts) == {to for [to] in ALL.groups.values()}
    for address in ("data@hospital.example", "quality@hospital.example"):
        assert "Cobranças com erro permanente em 11/01/2026: 1. Decisões: 1." in texts[address]
        assert "https://console.hospital.example/claims/CLM-7-1" in texts[address]
        assert "INVALID_PROCEDURE_CODE" in texts[address]
    assert "Nada a relatar no período." in texts["billing@hospital.example"]
    assert "05/01/2026 a 11/01/2026: 1" in texts["management@hospital.example"]
    assert "Taxa de sucesso após reenvio" in texts["it@hospital.example"]


async def test_a_claim_that_is_given_up_twice_is_one_claim_and_two_decisions(store: Store) -> None:
    for claim, instance in (("CLM-7-1", 1), ("CLM-7-2", 1), ("CLM-7-1", 2)):
        await store.record(draft(claim, error=REFUSAL, now=YESTERDAY, process_instance_key=instance))
    async with mail_stage(store, Mailbox(), recipients=ALL) as stage:
        await stage.run("send-reports")
        await arrived(stage)
        [mail] = [one for one in stage.mailbox.arrived if one.to == ("data@hospital.example",)]
    assert mail.message["Subject"] == "Erros permanentes em 11/01/2026: 2"
    assert "Cobranças com erro permanente em 11/01/2026: 2. Decisões: 3." in mail.text
    assert "INVALID_PROCEDURE_CODE  -      2          3" in mail.text


async def test_mails_say_states_and_days_in_their_language(store: Store) -> None:
    async with store.transaction() as tx:
        await tx.claims.put("CLM-7-1", "302147", ClaimState.FAILED, now=YESTERDAY)
        await tx.claims.move("CLM-7-1", ClaimState.IN_REVIEW, now=YESTERDAY)
    await store.record(draft("CLM-7-1", error=REFUSAL, now=YESTERDAY))
    period = day_of(YESTERDAY.date(), UTC)
    texts = {}
    for language in ("pt", "en"):
        asked = AskedReport(ReportKind.PERMANENT, period, NOW, language)
        texts[language] = plain_table((await make_report(store, asked)).tables[1])
    assert "11/01/2026 10:40" in texts["pt"]
    assert "Em revisão" in texts["pt"]
    assert "2026-01-11 10:40" in texts["en"]
    assert "IN_REVIEW" in texts["en"]
    assert set(PORTUGUESE.states) == set(ClaimState)


async def test_a_report_is_one_mail_however_often_the_job_runs(store: Store) -> None:
    async with mail_stage(store, Mailbox(), recipients=ALL) as stage:
        for _ in range(3):
            await stage.run("send-reports")
        assert (await store.look(lambda tx: tx.mails.by_state()))[MailState.PENDING] == 5
        assert await stage.run("send-reports") == Complete({"processedCount": 0})


async def test_who_has_no_address_gets_nothing_and_makes_no_dead_letter(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    some = Recipients({"BILLING": ("billing@hospital.example",)})
    async with mail_stage(store, Mailbox(), recipients=some) as stage:
        assert await stage.run("send-reports") == Complete({"processedCount": 1})
        assert set(await arrived(stage)) == {"billing@hospital.example"}
        assert await store.look(lambda tx: tx.dead_letters.count()) == 0
    assert "MAIL_TO_QUALITY" in capsys.readouterr().out


async def test_days_that_nobody_reported_are_made_good(store: Store) -> None:
    async with mail_stage(store, Mailbox(), recipients=ALL) as stage:
        await stage.run("send-reports")
        stage.clock.pass_by(timedelta(days=3))
        assert await stage.run("send-reports") == Complete({"processedCount": 3 * 3})


async def reported(stage: MailStage, day: str) -> list[str]:
    """What data analysis was told about a day, in the order of its mails."""
    await arrived(stage)
    told = [one for one in stage.mailbox.arrived if one.to == ("data@hospital.example",)]
    return [
        text
        for one in told
        if (text := str(one.message["Subject"])).startswith(f"Erros permanentes em {day}")
    ]


async def test_a_report_that_a_clock_ahead_has_made_is_made_anew_when_its_day_is_over(store: Store) -> None:
    ahead = timedelta(days=3, hours=14)
    async with mail_stage(store, Mailbox(), recipients=ALL) as stage:
        stage.clock.pass_by(ahead)
        await stage.run("send-reports")  # of the 14th, which nobody has seen yet
        assert await reported(stage, "14/01/2026") == ["Erros permanentes em 14/01/2026: 0"]
        stage.clock.pass_by(-ahead)
        await store.record(draft("CLM-7-1", error=REFUSAL, now=NOW + timedelta(days=2)))
        for _ in range(4):
            stage.clock.pass_by(timedelta(days=1))
            await stage.run("send-reports")
            assert await stage.run("send-reports") == Complete({"processedCount": 0})
            again = await reported(stage, "14/01/2026")
    assert sorted(again) == ["Erros permanentes em 14/01/2026: 0", "Erros permanentes em 14/01/2026: 1"]


async def test_a_report_of_a_day_that_was_over_by_a_clock_ahead_alone_is_made_anew(store: Store) -> None:
    async with mail_stage(store, Mailbox(), recipients=ALL) as stage:
        await stage.run("send-reports")
        stage.clock.pass_by(timedelta(days=2))
        await stage.run("send-reports")  # of the 12th, which lasts on
        stage.clock.pass_by(timedelta(days=-2))
        await store.record(draft("CLM-7-1", error=REFUSAL, now=NOW + timedelta(hours=1)))
        stage.clock.pass_by(timedelta(days=1))
        await stage.run("send-reports")
        assert await stage.run("send-reports") == Complete({"processedCount": 0})
        told = await reported(stage, "12/01/2026")
    assert sorted(told) == ["Erros permanentes em 12/01/2026: 0", "Erros permanentes em 12/01/2026: 1"]


async def test_tables_come_as_text_and_as_html(store: Store) -> None:
    await store.record(draft("CLM-7-1", error=REFUSAL, now=YESTERDAY))
    async with mail_stage(store, Mailbox(), recipients=ALL) as stage:
        await stage.run("send-reports")
        await arrived(stage)
        [mail] = [one for one in stage.mailbox.arrived if one.to == ("data@hospital.example",)]
    body = mail.message.get_body(("html",))
    assert body is not None
    assert '<a href="https://console.hospital.example/claims/CLM-7-1">CLM-7-1</a>' in body.get_content()
    assert "Cobrança  Operadora  Quando" in mail.text
    assert "<table" not in mail.text
