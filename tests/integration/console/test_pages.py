"""What people see: numbers that are right, links to the claims behind them, and words that are ours."""

import csv
import io
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape
from urllib.parse import urlsplit

import httpx
import pytest

from domain.access import Role
from domain.breaker import OWN_PACE
from domain.catalog import Team
from domain.claim_state import ClaimState
from domain.payer_status import PayerState
from persistence.repositories.claims import Arrival
from persistence.repositories.upkeep_runs import UpkeepTask
from persistence.store import Store, Transaction
from tests.support.builders import NOW
from tests.support.console_scene import CARD, COAST, NORTH, SOUTH, ConsoleScene
from tests.support.console_stage import ConsoleStage, csrf_in, log_in
from tests.support.mails import keep_dead
from workers.console.words import words_of

LINK = re.compile(r'<a class="id" href="([^"]+)"[^>]*>([^<]+)</a>')
STOPPED = re.compile(
    r'<a class="id" href="(/claims\?state[^"]+)">([^<]+)</a>.*?<a href="\1">(\d+)</a>', re.DOTALL
)
INTERNAL = re.compile(r"\b(PERMANENT_ERROR|MAX_RETRIES\w*|IN_REVIEW|WAITING|BILLING_\w+|None|TIMEOUT)\b")
UNKNOWN = ["CLM-9-9", "CLM-9-9/../x", "<script>alert(1)</script>", "' OR 1=1 --", "%00"]
COUNT = re.compile(r'role="status">([\d.+]+) cobranças?')


@pytest.fixture
async def scene(store: Store) -> ConsoleScene:
    return ConsoleScene(store, NOW)


@pytest.fixture
async def browser(stage: ConsoleStage) -> AsyncIterator[httpx.AsyncClient]:
    async with stage.logged_in(*(set(Role) - {Role.AUDITOR})) as opened:
        yield opened


async def page(browser: httpx.AsyncClient, path: str) -> str:
    answer = await browser.get(path)
    assert answer.status_code == 200, answer.text
    return unescape(answer.text)


async def found(browser: httpx.AsyncClient, path: str) -> int:
    counted = COUNT.search(await page(browser, path))
    assert counted
    return int(counted[1])


async def test_what_is_of_one_moment_is_told_in_the_order_in_which_it_came_about(
    browser: httpx.AsyncClient, scene: ConsoleScene
) -> None:
    claim = await scene.in_review(NORTH, CARD, Team.REGISTRATION, hours=2, due=40)
    text = (await page(browser, f"/claims/{claim}")).partition("Do arquivo ao protocolo")[2]
    said = ["Arquivo recebido", "Envio 1", "Reenviar não resolve", "Passou para uma pessoa", "Aviso enviado"]
    places = [text.index(one) for one in said]
    assert places == sorted(places)


async def test_an_empty_console_says_what_to_expect(browser: httpx.AsyncClient) -> None:
    today = await page(browser, "/")
    assert "Nada parado: nenhuma cobrança espera por alguém." in today
    assert "Nenhum reenvio marcado." in today
    assert "Nenhuma operadora ainda" in today
    assert "Nenhuma cobrança ainda." in await page(browser, "/claims")


async def test_today_tells_causes_apart_and_leads_to_the_claims_behind_each_number(
    browser: httpx.AsyncClient, scene: ConsoleScene
) -> None:
    await scene.everything()
    today = await page(browser, "/")
    rows = re.findall(
        r'<a class="id" href="(/claims\?state[^"]+)">([^<]+)</a>.*?<a href="\1">(\d+)</a>', today, re.DOTALL
    )
    assert [(cause, int(number)) for _, cause, number in rows] == [
        ("Código de procedimento recusado", 2),  # due soonest
        ("Carteira ou dados do beneficiário recusados", 5),
        ("Falha técnica: o processo parou", 1),
        ("Tentativas esgotadas", 1),
    ]
    assert [await found(browser, link) for link, _, _ in rows] == [2, 5, 1, 1]
    helped = re.findall(r'<td data-label="O que fazer"><a href="([^"]+)">([^<]+)</a>', today)
    decide, release = "corrigir ou decidir", "a TI corrige e libera"
    assert [what for _, what in helped] == [decide, decide, release, decide]
    assert [await found(browser, link) for link, _ in helped] == [2, 5, 1, 1]
    assert '<span class="risk"><time' in today


async def test_today_counts_what_goes_out_by_itself(browser: httpx.AsyncClient, scene: ConsoleScene) -> None:
    await scene.everything()
    live = await page(browser, "/today/live")
    for state, number in (("waiting", 9), ("held", 7), ("sending", 0), ("received", 1)):
        assert f'href="/claims?state={state}"><strong>{number}</strong>' in live
        assert await found(browser, f"/claims?state={state}") == number
    assert "9 reenvios marcados; barras das próximas 12 horas" in live


async def test_today_has_a_line_for_each_payer(browser: httpx.AsyncClient, scene: ConsoleScene) -> None:
    await scene.everything()
    live = await page(browser, "/today/live")
    for said in ("Fora do ar: tenta de novo sozinha", "Em pausa", "Recebendo", "no ritmo atual"):
        assert said in live
    assert live.index(SOUTH) < live.index(COAST)  # who holds claims comes first


async def test_today_begins_with_what_cannot_wait_and_leads_there(
    browser: httpx.AsyncClient, scene: ConsoleScene, store: Store
) -> None:
    assert "Alertas" not in await page(browser, "/")
    await scene.everything()
    await keep_dead(store, [900, 901], at=NOW)

    async def forget(tx: Transaction) -> None:
        await tx.upkeep_runs.done(UpkeepTask.STANDING, now=NOW - timedelta(hours=3))

    await store.run(forget)
    live = await page(browser, "/today/live")
    told = re.findall(r'<li>(?:<a href="([^"]+)">)?<span class="state.*?<span>([^<]+)</span>', live)
    assert told == [
        ("/claims?risk=1&order=deadline", "2 cobranças com prazo vencido ou a menos de 8 horas"),
        ("", "Ninguém procura cobranças esquecidas há 3 h: avise a TI"),
        ("/letters", "2 avisos por e-mail não chegaram"),
    ]
    assert await found(browser, told[0][0]) == 2


async def test_indicators_stand_beside_their_targets(browser: httpx.AsyncClient, scene: ConsoleScene) -> None:
    await scene.indicators()
    today = await page(browser, "/")
    assert '<a class="id" href="/indicators/success_after_retry">87,00 %</a>' in today
    assert "meta ≥ 85 %: atingida" in today
    assert "meta ≤ 3 %: não atingida" in today


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("", 32),
        ("?state=review", 8),
        ("?state=incident", 1),
        ("?state=accepted", 6),
        ("?state=no-such-state", 32),
        (f"?payer={SOUTH}", 7),
        (f"?payer={NORTH}&state=waiting", 4),
        ("?team=REGISTRATION", 5),
        ("?team=OPERATIONS", 0),
        ("?risk=1", 2),
        ("?order=deadline", 32),
        ("?order=deadline&state=accepted", 6),
        ("?text=40101", 1),
        ("?text=9000040101", 1),
        ("?text=CLM-302147-PREST0001-40101", 1),
        ("?text=%25", 0),
        ("?text=' OR 1=1 --", 0),
        ("?after=nonsense&id=x", 32),
        ("?after=0001-01-01T00:00:00%2B23:59&id=x", 32),
        ("?after=9999-12-31T23:59:59-23:59&id=x&order=deadline", 32),
        ("?category=TIMEOUT", 1),  # of those in review, where no state is chosen
        ("?category=TIMEOUT&state=waiting", 9),
        ("?category=INVALID_PATIENT_DATA", 5),
        ("?category=no-such-kind", 0),
    ],
)
async def test_a_list_is_narrowed_by_its_address(
    browser: httpx.AsyncClient, scene: ConsoleScene, query: str, number: int
) -> None:
    await scene.everything()
    assert await found(browser, f"/claims{query}") == number


@pytest.mark.parametrize("order", ["newest", "deadline"])
async def test_pages_follow_each_other_without_a_gap_or_a_repetition(
    browser: httpx.AsyncClient, store: Store, order: str
) -> None:
    async def receive(tx: Transaction) -> None:
        arrivals = [
            (
                Arrival(f"CLM-1-{n}", "p", NOW + timedelta(hours=n // 10), "h", str(n)),
                NOW - timedelta(hours=n // 7),
            )
            for n in range(120)
        ]
        await tx.claims.receive_all(arrivals)

    await store.run(receive)
    seen: list[str] = []
    link: str | None = f"/claims?order={order}"
    while link:
        text = await page(browser, link)
        assert "120 cobranças" in text
        seen += [path for path, _ in LINK.findall(text)]
        following = re.search(r'href="([^"]+)" rel="next"', text)
        link = following[1] if following else None
    assert len(seen) == len(set(seen)) == 120


async def test_the_order_hides_nothing(browser: httpx.AsyncClient, store: Store) -> None:
    """Those with a deadline first, then those without one or at an end, page by page."""

    async def put(tx: Transaction) -> None:
        for n in range(70):
            await tx.claims.put(f"CLM-1-{n}", "p", ClaimState.FAILED, now=NOW - timedelta(minutes=n // 3))
        arrivals = [
            (Arrival(f"CLM-2-{n}", "p", NOW + timedelta(hours=n), "h", str(n)), NOW) for n in range(40)
        ]
        await tx.claims.receive_all(arrivals)

    await store.run(put)
    seen: list[str] = []
    link: str | None = "/claims?order=deadline"
    while link:
        text = await page(browser, link)
        assert "110 cobranças" in text
        seen += [path for path, _ in LINK.findall(text)]
        following = re.search(r'href="([^"]+)" rel="next"', text)
        link = following[1] if following else None
    assert len(seen) == len(set(seen)) == 110
    assert seen[:40] == [f"/claims/CLM-2-{n}" for n in range(40)]


@pytest.mark.parametrize(
    ("state", "listed", "said", "step"),
    [
        (PayerState.CLOSED, "queued", "Aguardando a vez na operadora (", "quando chegar a vez"),
        (PayerState.OPEN, "held", "Operadora indisponível", "quando a operadora voltar"),
        (PayerState.PAUSED, "held", "Operadora indisponível", "quando a operadora voltar"),
        (PayerState.STOPPED, "stopped", "Parada: a operadora recusou nosso acesso", "a TI corrige o acesso"),
    ],
)
async def test_a_claim_that_waits_for_its_payer_says_for_what(
    browser: httpx.AsyncClient, scene: ConsoleScene, state: PayerState, listed: str, said: str, step: str
) -> None:
    await scene.payer(NORTH, state)
    claim = await scene.held(NORTH, hours=1)
    shown = await page(browser, f"/claims/{claim}")
    assert said in shown
    assert step in shown
    lists = ("queued", "held", "stopped", "waiting")
    assert [await found(browser, f"/claims?state={one}") for one in lists] == [
        int(one == listed) for one in lists
    ]
    today = await page(browser, "/")
    assert ("Nada parado" in today) is (state is not PayerState.STOPPED)
    assert (f'href="/claims?state={listed}"' in today) is True


async def test_retries_that_a_deadline_ended_are_not_called_spent(
    browser: httpx.AsyncClient, scene: ConsoleScene
) -> None:
    claim = await scene.ended_by_deadline(NORTH, hours=2)
    await scene.exhausted(COAST, hours=3)
    told = "Prazo acabou antes de outro reenvio"
    rows = STOPPED.findall(await page(browser, "/"))
    assert sorted((cause, int(n)) for _, cause, n in rows) == [(told, 1), ("Tentativas esgotadas", 1)]
    assert [await found(browser, link) for link, _, _ in rows] == [1, 1]
    shown = await page(browser, f"/claims/{claim}")
    assert told in shown
    assert "Tentativas esgotadas" not in shown


async def test_the_story_tells_waiting_ones_turn_from_a_payer_that_is_away(
    browser: httpx.AsyncClient, scene: ConsoleScene, store: Store
) -> None:
    claim = await scene.received(NORTH)
    line = f"{OWN_PACE}; no attempt spent"
    await store.run(lambda tx: tx.journal.write(claim, "payer_unavailable", line, now=NOW))
    shown = await page(browser, f"/claims/{claim}")
    assert "Entrou na fila da operadora" in shown
    assert "Operadora indisponível: espera" not in shown


async def test_the_nearest_deadline_comes_first_when_asked(
    browser: httpx.AsyncClient, scene: ConsoleScene
) -> None:
    await scene.everything()
    first = LINK.findall(await page(browser, "/claims?order=deadline"))[0][0]
    claim = await page(browser, first)
    assert "faltam 3 h" in claim


async def test_a_filter_is_kept_by_its_name_for_who_kept_it(
    stage: ConsoleStage, browser: httpx.AsyncClient, scene: ConsoleScene
) -> None:
    await scene.everything()
    token = csrf_in(await browser.get("/account"))
    form = {"csrf": token, "name": "<b>minhas</b>", "query": "state=review&team=REGISTRATION&evil=//x"}
    kept = await browser.post("/saved-filters", data=form)
    assert kept.headers["location"] == "/claims?state=review&team=REGISTRATION"
    shown = (await browser.get("/claims")).text
    assert '<a href="/claims?state=review&amp;team=REGISTRATION">&lt;b&gt;minhas&lt;/b&gt;</a>' in shown
    await browser.post("/saved-filters", data=form | {"query": "state=held"})  # the same name: replaced
    [filter_id] = re.findall(r"/saved-filters/(\d+)/forget", (await browser.get("/claims")).text)
    async with stage.logged_in(Role.VIEWER, login="bia") as other:
        assert "minhas" not in (await other.get("/claims")).text
        theirs = csrf_in(await other.get("/account"))
        await other.post(f"/saved-filters/{filter_id}/forget", data={"csrf": theirs})
    assert "minhas" in (await browser.get("/claims")).text  # nobody else's to forget
    await browser.post(f"/saved-filters/{filter_id}/forget", data={"csrf": token})
    assert "minhas" not in (await browser.get("/claims")).text
    for name, query in (("", "state=held"), ("  ", "state=held"), ("nothing", "")):
        await browser.post("/saved-filters", data=form | {"name": name, "query": query})
    assert "/forget" not in (await browser.get("/claims")).text


async def test_the_export_holds_all_that_the_list_describes(
    browser: httpx.AsyncClient, scene: ConsoleScene
) -> None:
    await scene.everything()
    answer = await browser.get("/claims.csv?state=review")
    assert answer.headers["content-type"].startswith("text/csv")
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff")), delimiter=";"))
    assert len(rows) == 8
    assert {row["Motivo"] for row in rows} >= {"Número da carteira inválido (TISS 1001)"}


async def test_a_cell_of_the_export_is_no_formula(browser: httpx.AsyncClient, store: Store) -> None:
    await store.run(lambda tx: tx.claims.put("CLM-1-1", '=cmd|" /C calc"!A0', ClaimState.FAILED, now=NOW))
    assert ";\"'=cmd|" in (await browser.get("/claims.csv")).text


async def test_a_claims_page_tells_its_story_with_the_numbers_of_each_decision(
    browser: httpx.AsyncClient, scene: ConsoleScene
) -> None:
    claim = await scene.waiting(NORTH, minutes=30, count=1)
    text = await page(browser, f"/claims/{claim}")
    for said in (
        *("Aguardando reenvio (hoje 08:10)", "reenvio 2 de 5", "o reenvio acontece sozinho na hora marcada"),
        *(
            "Arquivo recebido e conferido",
            "Envio 1",
            "Envio 2",
            "não foi aceita",
            "íntegra: nada foi alterado",
        ),
        *("base 5 min, janela 5 min a 6 min (±20 %)", "base 10 min, janela 8 min a 12 min (±20 %)"),
    ):
        assert said in text
    assert text.index("Envio 1") < text.index("reenvio 1 de 5") < text.index("Envio 2")


async def test_the_formula_gives_the_wait_that_was_decided(
    browser: httpx.AsyncClient, scene: ConsoleScene, store: Store
) -> None:
    claim = await scene.received(NORTH, hours=2)
    await scene.failed(claim, "HTTP:504", count=2, hours=1)
    [decided] = await store.look(lambda tx: tx.decisions.of_claims([claim]))
    assert decided.next_retry_time
    seconds = round((decided.next_retry_time - decided.decided_at).total_seconds())
    assert f"→ {seconds // 60} min {seconds % 60} s" in await page(browser, f"/claims/{claim}")


@pytest.mark.parametrize("claim", UNKNOWN)
async def test_a_claim_that_nobody_knows_is_told_so(browser: httpx.AsyncClient, claim: str) -> None:
    answer = await browser.get(f"/claims/{claim}")
    assert answer.status_code == 404
    assert "<script>alert" not in answer.text


HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


async def test_nothing_that_others_wrote_becomes_markup(browser: httpx.AsyncClient, store: Store) -> None:
    payer = HOSTILE[:64]

    async def put(tx: Transaction) -> None:
        await tx.claims.put("CLM-1-1", payer, ClaimState.FAILED, now=NOW)
        await tx.claims.move("CLM-1-1", ClaimState.IN_REVIEW, now=NOW, reason=HOSTILE)
        await tx.payers.lock(payer, now=NOW)

    await store.run(put)
    for path in ("/", "/claims", "/claims/CLM-1-1", f"/claims?text={HOSTILE}&payer={HOSTILE}&team={HOSTILE}"):
        text = (await browser.get(path)).text
        assert "<script>alert" not in text
        assert "<img src=x" not in text


async def test_pages_have_no_inline_script_style_or_outside_address(
    browser: httpx.AsyncClient, scene: ConsoleScene
) -> None:
    await scene.everything()
    [claim, *_] = LINK.findall(await page(browser, "/claims"))
    bulk = "/reviews/do/resend?reason=PERMANENT_ERROR"
    for path in ("/", "/claims", claim[0], "/account", "/reviews", bulk, "/reviews/bulk"):
        text = (await browser.get(path)).text
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", text)
        addresses = re.findall(r'(?:href|src|action|hx-get)="([^"]*)"', text)
        assert [one for one in addresses if urlsplit(unescape(one)).netloc] == []


@pytest.mark.parametrize("language", ["pt", "en"])
async def test_no_page_shows_an_internal_word(
    stage: ConsoleStage, browser: httpx.AsyncClient, scene: ConsoleScene, language: str
) -> None:
    await scene.everything()
    token = csrf_in(await browser.get("/account"))
    await browser.post("/account/language", data={"csrf": token, "language": language})
    paths = [path for path, _ in LINK.findall(await page(browser, "/claims"))]
    groups = [path for path, _ in LINK.findall(await page(browser, "/reviews?team=all"))]
    for path in ("/", "/claims", "/account", "/reviews/bulk", *groups, *paths[:12], *paths[-6:]):
        shown = re.sub(r"<[^>]*>", " ", await page(browser, path))
        assert not re.search(
            r"\b(PERMANENT_ERROR|MAX_RETRIES\w*|IN_REVIEW|WAITING|BILLING_\w+|None|TIMEOUT)\b", shown
        )


@pytest.mark.parametrize("language", ["pt", "en"])
@pytest.mark.parametrize(
    ("path", "status"), [("/no-such-page", 404), ("/account/language", 403), ("/saved-filters", 413)]
)
async def test_what_goes_wrong_is_told_in_ones_own_language_with_the_way_back(
    stage: ConsoleStage, language: str, path: str, status: int
) -> None:
    await stage.person("bia", {Role.VIEWER}, language=language)
    async with stage.browser() as browser:
        await log_in(browser, "bia")
        sent = {"csrf": "of-nobody", "name": "x" * (100_000 if status == 413 else 1)}
        answer = await (browser.get(path) if status == 404 else browser.post(path, data=sent))
    assert answer.status_code == status
    words = words_of(language)
    assert [words(name) in unescape(answer.text) for name in ("error.title", "nav.label")] == [True, True]
