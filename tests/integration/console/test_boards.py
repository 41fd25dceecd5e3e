"""The boards together: clean pages in both languages, indicators, reports, and nothing typed is markup."""

import re
from datetime import timedelta
from urllib.parse import quote, urlsplit

import httpx
import pytest

from domain.kpis.definitions import KPIS
from domain.kpis.periods import day_of
from domain.payer_status import PayerState
from persistence.repositories.draft import DecisionDraft
from persistence.store import Store
from tests.integration.console.boards import HOSTILE, send, shown
from tests.support.board_scene import BoardScene
from tests.support.builders import NOW, REFUSAL, draft
from tests.support.console_scene import COAST, NORTH, SOUTH, ConsoleScene
from tests.support.console_stage import ZONE
from tests.support.mails import keep_dead
from workers.upkeep.reports import AskedReport, ReportKind

INTERNAL = re.compile(
    r"\b(CLOSED|HALF_OPEN|STOPPED|PAUSED|RETRIES|PERMANENT\w*|NO_RECIPIENT|IN_REVIEW|dlq|None|BILLING\w*|TIMEOUT)\b"
)
PATHS = (
    "/payers",
    f"/payers/{SOUTH}",
    f"/payers/{NORTH}",
    "/letters",
    "/letters?code=550&age=over-day",
    "/letters/redrive",
    "/letters/purge?company=clinica-sol",
    "/indicators",
    f"/indicators?payer={NORTH}&unit=week",
    *(f"/indicators/{kpi.name}?unit=day&day=2026-01-11" for kpi in KPIS),
    "/reports",
    "/reports/permanent/2026-01-11",
    "/reports/effectiveness/2026-01-05",
    "/people",
    "/people/ana",
)


async def test_empty_boards_say_what_to_expect(everyone: httpx.AsyncClient) -> None:
    for path, said in (
        ("/payers", "Nenhuma operadora ainda"),
        ("/letters", "Nenhum aviso parado"),
        ("/indicators", "Nenhuma cobrança falhou no período"),
        ("/reports", "não enviado"),
    ):
        assert said in await shown(everyone, path)


async def test_every_board_is_clean_of_inline_code_and_internal_words(
    everyone: httpx.AsyncClient, store: Store
) -> None:
    await BoardScene(store, NOW).everything()
    await ConsoleScene(store, NOW).everything()
    for language in ("pt", "en"):
        await send(everyone, "/account/language", language=language)
        for path in PATHS:
            text = await shown(everyone, path)
            assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", text), path
            addresses = re.findall(r'(?:href|src|action|hx-get)="([^"]*)"', text)
            assert [one for one in addresses if urlsplit(one).netloc] == []
            words = re.sub(r"<[^>]*>", " ", text)
            assert not INTERNAL.search(words), (path, INTERNAL.search(words))


async def test_indicators_stand_beside_both_rules_targets_with_the_claims_behind(
    everyone: httpx.AsyncClient, store: Store
) -> None:
    await BoardScene(store, NOW).failures()
    page = await shown(everyone, "/indicators?unit=day&day=2026-01-11")
    for said in (
        "RN-BIL-004, meta ≥ 85 %: atingida",
        "RN-BIL-005, meta ≥ 80 %: atingida",
        "RN-BIL-005, meta < 10 %: não atingida",
        "7 de 7 cobranças",
    ):
        assert said in page
    assert page.count("RN-BIL-") == 8
    behind = await shown(everyone, "/indicators/permanent_errors?unit=day&day=2026-01-11")
    counting = re.findall(r"/claims/(CLM-500-\d).*?<span>(Conta|Não conta)</span>", behind, re.DOTALL)
    assert {claim for claim, counts in counting if counts == "Conta"} == {"CLM-500-7", "CLM-500-8"}
    assert len(counting) == 10
    one = await shown(everyone, f"/indicators?unit=day&day=2026-01-11&payer={COAST}")
    assert "Por operadora" not in one
    assert "1 de 5 cobranças" in one


@pytest.mark.parametrize(
    "query",
    ["unit=nonsense&day=x", "unit=day&day=9999-12-31", "unit=week&day=0001-01-01", f"payer={HOSTILE}"],
)
async def test_an_address_that_asks_for_nonsense_shows_the_usual(
    everyone: httpx.AsyncClient, query: str
) -> None:
    answer = await everyone.get(f"/indicators?{query}")
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text


async def test_a_report_is_read_as_it_was_sent(everyone: httpx.AsyncClient, store: Store) -> None:
    scene = BoardScene(store, NOW)
    await scene.failures()
    yesterday = day_of((NOW - timedelta(days=1)).astimezone(ZONE).date(), ZONE)
    live = await shown(everyone, f"/reports/permanent/{yesterday.first}")
    assert "não foi enviado a ninguém" in live
    asked = AskedReport(ReportKind.PERMANENT, yesterday, NOW)
    mail_id = await scene.report(ReportKind.PERMANENT, "QUALITY", asked)
    await store.record(_late_refusal())
    sent = await shown(everyone, f"/reports/permanent/{yesterday.first}")
    assert "não foi enviado a ninguém" not in sent
    assert "CLM-500-7" in sent
    assert '<td class="brief" data-label="Operadora">' in sent  # on a phone each cell says what it is
    assert "CLM-500-99" not in sent  # what became known later is not in what was sent
    assert await store.look(lambda tx: tx.mails.find(mail_id))
    assert "na fila" in await shown(everyone, "/reports")


def _late_refusal() -> DecisionDraft:
    return draft("CLM-500-99", error=REFUSAL, now=NOW - timedelta(hours=20))


@pytest.mark.parametrize("path", ["nonsense/2026-01-11", "permanent/nonsense", "permanent/2999-01-01"])
async def test_a_report_that_cannot_be_is_told_so(everyone: httpx.AsyncClient, path: str) -> None:
    assert (await everyone.get(f"/reports/{path}")).status_code == 404


async def test_nothing_that_others_wrote_becomes_markup(
    everyone: httpx.AsyncClient, auditor: httpx.AsyncClient, store: Store
) -> None:
    payer = HOSTILE[:64]
    await ConsoleScene(store, NOW).payer(payer, PayerState.PAUSED)
    at = NOW - timedelta(hours=1)
    await keep_dead(store, [1], at=at, last_failure_code=HOSTILE[:64], company_id=payer)
    await send(everyone, f"/payers/{quote(payer, safe='')}/probe", reason=HOSTILE)
    paths = ["/payers", f"/payers/{quote(payer, safe='')}", "/letters", "/letters/purge", "/indicators"]
    pages = [await everyone.get(path) for path in (*paths, f"/letters?code={HOSTILE}&company={HOSTILE}")]
    trails = [f"/audit/trail?claim={HOSTILE}", f"/audit/trail?payer={quote(payer)}", "/audit"]
    pages += [await auditor.get(path) for path in trails]
    pages += [await send(everyone, "/people", login=HOSTILE, name=HOSTILE)]
    for page in pages:
        assert page.status_code in (200, 400)
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
