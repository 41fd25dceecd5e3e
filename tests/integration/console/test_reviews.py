"""Reviews: grouped by cause, seen by team, decided one by one; with who and why, by who may."""

import asyncio
import re
from html import unescape

import httpx
import pytest

from domain.access import Role
from domain.catalog import Team
from domain.claim_state import ClaimState
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.console_scene import CARD, COAST, NORTH, PROCEDURE, ConsoleScene
from tests.support.console_stage import ConsoleStage, csrf_in
from tests.support.review_process import review_stage

GROUP = re.compile(r'class="num lead">([\d.]+)</td>\s*<td><a class="id" href="([^"]+)">([^<]+)</a>')
INTERNAL = re.compile(
    r"\b(PERMANENT_ERROR|MAX_RETRIES\w*|IN_REVIEW|INCIDENT|DEADLINE|None|TIMEOUT)\b(?![^<]*>)"
)
WHO = "Ana Souza (ana, console)"
CARD_REFUSED = "Número da carteira inválido (TISS 1001)"


async def groups(browser: httpx.AsyncClient, path: str = "/reviews") -> list[tuple[str, str, str]]:
    page = await browser.get(path)
    assert page.status_code == 200, page.text
    assert not INTERNAL.search(page.text)
    return [(n, unescape(link), unescape(cause)) for n, link, cause in GROUP.findall(page.text)]


async def test_what_waits_is_grouped_by_cause_and_payer_most_urgent_first(
    stage: ConsoleStage, store: Store
) -> None:
    scene = ConsoleScene(store, NOW)
    await scene.everything()
    await scene.in_review(NORTH, CARD, Team.REGISTRATION, hours=50, due=40)
    await scene.ended_by_deadline(COAST, hours=3)
    async with stage.logged_in(Role.QUALITY) as browser:
        found = await groups(browser)
        assert [(n, cause) for n, _, cause in found] == [
            ("2", "Procedimento inválido (TISS 1801)"),  # due soonest
            ("5", CARD_REFUSED),
            ("1", "Prazo acabou antes de outro reenvio"),
            ("1", "Tentativas esgotadas"),
            ("1", "Falha técnica: o processo parou"),
            ("1", CARD_REFUSED),
        ]
        for number, link, _ in found:
            page = await browser.get(link)
            assert f'role="status">{number} cobrança' in page.text, link
            assert not INTERNAL.search(page.text)
            assert "/reviews/do/" not in page.text  # who watches is offered nothing


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("role", "number"),
    [(Role.REGISTRATION, 5), (Role.BILLING, 3), (Role.OPERATIONS, 1), (Role.QUALITY, 9), (Role.VIEWER, 9)],
)
async def test_people_see_their_teams_work_first(
    stage: ConsoleStage, store: Store, role: Role, number: int
) -> None:
    await ConsoleScene(store, NOW).everything()
    async with stage.logged_in(role) as browser:
        assert sum(int(n) for n, _, _ in await groups(browser)) == number
        assert sum(int(n) for n, _, _ in await groups(browser, "/reviews?team=all")) == 9
        assert sum(int(n) for n, _, _ in await groups(browser, "/reviews?team=REGISTRATION")) == 5


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("role", "offered"),
    [
        (Role.VIEWER, set()),
        (Role.REGISTRATION, {"correct", "assign", "note"}),
        (Role.BILLING, {"resend", "correct", "protocol", "assign", "note"}),
        (Role.BILLING_MANAGEMENT, {"resend", "correct", "protocol", "write-off", "assign", "note", "hold"}),
        (Role.OPERATIONS, {"assign", "note"}),
    ],
)
async def test_only_what_a_role_may_is_offered(
    stage: ConsoleStage, store: Store, role: Role, offered: set[str]
) -> None:
    claim = await ConsoleScene(store, NOW).in_review(NORTH, CARD, Team.REGISTRATION, hours=5, due=40)
    async with stage.logged_in(role) as browser:
        page = (await browser.get(f"/claims/{claim}")).text
    assert set(re.findall(rf'action="/claims/{claim}/([a-z-]+)"', page)) - {"cancel"} == offered


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_only_what_fits_the_state_is_offered(stage: ConsoleStage, store: Store) -> None:
    scene = ConsoleScene(store, NOW)
    there = await scene.missing_protocol(NORTH, hours=5)
    waiting = await scene.waiting(NORTH, minutes=5, count=1)
    async with stage.logged_in(Role.BILLING_MANAGEMENT) as browser:
        page = (await browser.get(f"/claims/{there}")).text
        assert "/protocol" in page
        assert "/write-off" in page
        assert "/resend" not in page
        assert "/correct" not in page
        page = (await browser.get(f"/claims/{waiting}")).text
        assert "/write-off" not in page


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("what", "fields", "end", "order", "said"),
    [
        ("resend", {}, None, "review RESEND", "decided"),
        ("write-off", {}, ClaimState.WRITTEN_OFF, "review WRITE_OFF", "written_off"),
        (
            "protocol",
            {"protocol": "123456", "unchecked": "yes"},
            ClaimState.ACCEPTED,
            "review PROTOCOL_RECOVERED unchecked",
            "recovered",
        ),
    ],
)
async def test_a_review_is_decided_with_who_and_why(
    store: Store, what: str, fields: dict[str, str], end: ClaimState | None, order: str, said: str
) -> None:
    claim = await ConsoleScene(store, NOW).in_review(NORTH, CARD, Team.REGISTRATION, hours=5, due=40)
    async with (
        review_stage(store) as (stage, processes),
        stage.logged_in(Role.BILLING_MANAGEMENT) as browser,
    ):
        token = csrf_in(await browser.get(f"/claims/{claim}"))
        data = {"csrf": token, "reason": "card was mended", **fields}
        answer, _ = await asyncio.gather(
            browser.post(f"/claims/{claim}/{what}", data=data), processes.follow(1, end)
        )
        assert answer.headers["location"] == f"/claims/{claim}?said={said}"
        assert "notice done" in (await browser.get(answer.headers["location"])).text
    kept = await store.look(lambda tx: tx.orders.about_claim(claim))
    assert [(one.action, one.ordered_by, one.reason) for one in kept] == [(order, WHO, "card was mended")]
    events = await store.look(lambda tx: tx.audit.of_claim(claim))
    assert any(f'"action":"{order}"' in event.data for event in events)


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_what_the_payer_may_have_is_resent_only_by_who_has_asked(store: Store) -> None:
    claim = await ConsoleScene(store, NOW).arrival_unknown(NORTH, hours=5)
    async with review_stage(store) as (stage, processes), stage.logged_in(Role.BILLING) as browser:
        token = csrf_in(await browser.get(f"/claims/{claim}"))
        data = {"csrf": token, "reason": "they do not have it"}
        answer = await browser.post(f"/claims/{claim}/resend", data=data)
        assert answer.headers["location"].endswith("said=ask_first")
        assert processes.told == []
        answer, _ = await asyncio.gather(
            browser.post(f"/claims/{claim}/resend", data=data | {"asked_payer": "yes"}),
            processes.follow(1),
        )
        assert answer.headers["location"].endswith("said=decided")


async def test_a_review_is_handed_over_and_noted_on_record(stage: ConsoleStage, store: Store) -> None:
    claim = await ConsoleScene(store, NOW).in_review(NORTH, CARD, Team.REGISTRATION, hours=5, due=40)
    await stage.person("bia", [Role.REGISTRATION], name="Bia Lima")
    async with stage.logged_in(Role.BILLING) as browser:
        token = csrf_in(await browser.get(f"/claims/{claim}"))
        handed = await browser.post(
            f"/claims/{claim}/assign", data={"csrf": token, "login": "bia", "reason": "she knows"}
        )
        assert handed.headers["location"].endswith("said=assigned")
        noted = await browser.post(f"/claims/{claim}/note", data={"csrf": token, "reason": "<b>call</b>"})
        assert noted.headers["location"].endswith("said=noted")
        page = (await browser.get(f"/claims/{claim}")).text
        assert "Com: Bia Lima" in page
        assert "&lt;b&gt;call&lt;/b&gt;" in page
        assert "<b>call" not in page
        nobody = await browser.post(f"/claims/{claim}/assign", data={"csrf": token, "login": "x' OR 1=1"})
        assert nobody.headers["location"].endswith("said=nobody")
        link = "/reviews/group?reason=PERMANENT_ERROR"
        assert "Bia Lima" in (await browser.get(link)).text
        assert 'role="status">0 cobranças' in (await browser.get(f"{link}&mine=1")).text
    kept = await store.look(lambda tx: tx.orders.about_claim(claim))
    assert [(one.action, one.reason) for one in kept] == [
        ("review assign", "bia: she knows"),
        ("review note", "<b>call</b>"),
    ]


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_a_new_review_is_with_nobody(stage: ConsoleStage, store: Store) -> None:
    scene = ConsoleScene(store, NOW)
    claim = await scene.in_review(NORTH, CARD, Team.REGISTRATION, hours=5, due=40)
    review = await store.look(lambda tx: tx.review_desk.open_review(claim))
    assert review
    await store.run(lambda tx: tx.review_desk.assign(review, claim, "ana", now=NOW))
    assert await store.look(lambda tx: tx.review_desk.assignees([claim])) == {claim: "ana"}
    await scene.reviewed_again(claim, hours=1)
    assert await store.look(lambda tx: tx.review_desk.assignees([claim])) == {}


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("what", ["resend", "write-off", "note", "protocol"])
@pytest.mark.parametrize("reason", ["", "  ", "\t"])
async def test_without_a_reason_nothing_is_decided(store: Store, what: str, reason: str) -> None:
    claim = await ConsoleScene(store, NOW).in_review(NORTH, CARD, Team.REGISTRATION, hours=5, due=40)
    async with review_stage(store) as (stage, processes):
        async with stage.logged_in(Role.BILLING_MANAGEMENT) as browser:
            token = csrf_in(await browser.get(f"/claims/{claim}"))
            data = {"csrf": token, "reason": reason}
            answer = await browser.post(f"/claims/{claim}/{what}", data=data)
            assert answer.headers["location"].endswith("said=no_reason")
        assert processes.told == []
    assert await store.look(lambda tx: tx.orders.about_claim(claim)) == []


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "value", ["<script>alert(1)</script>", "' OR 1=1 --", "{{ 7*7 }}", "\x00", "%s%n", "a" * 3_000]
)
@pytest.mark.parametrize("field", ["team", "reason", "category", "entry", "payer", "mine", "after", "id"])
async def test_whatever_an_address_says_is_harmless(
    stage: ConsoleStage, store: Store, field: str, value: str
) -> None:
    await ConsoleScene(store, NOW).in_review(NORTH, PROCEDURE, Team.REGISTRATION, hours=5, due=40)
    async with stage.logged_in(Role.BILLING_MANAGEMENT) as browser:
        for path in ("/reviews", "/reviews/group", "/reviews/do/resend"):
            page = await browser.get(path, params={field: value})
            assert page.status_code in (200, 404)
            assert "<script>alert" not in page.text
            assert "49" not in re.findall(r"<h1>([^<]*)", page.text)


async def test_a_groups_pages_follow_each_other(stage: ConsoleStage, store: Store) -> None:
    scene = ConsoleScene(store, NOW)
    for n in range(53):
        await scene.in_review(NORTH, CARD, Team.REGISTRATION, hours=n // 4, due=40)
    seen: list[str] = []
    link: str | None = "/reviews/group?reason=PERMANENT_ERROR"
    async with stage.logged_in(Role.VIEWER) as browser:
        while link:
            page = unescape((await browser.get(link)).text)
            assert 'role="status">53 cobranças' in page
            seen += re.findall(r'<a class="id" href="(/claims/[^"]+)"', page)
            following = re.search(r'href="([^"]+)" rel="next"', page)
            link = following[1] if following else None
    assert len(seen) == len(set(seen)) == 53


@pytest.mark.parametrize(
    ("what", "field", "text", "said"),
    [
        ("assign", "login", "bia\0", "nobody"),
        ("assign", "login", "x" * 10_000, "nobody"),
        ("assign", "login", "ana\u202e", "nobody"),
        ("protocol", "protocol", "1" * 13, "bad_protocol"),
        ("protocol", "protocol", "12\0", "bad_protocol"),
        ("protocol", "protocol", "<script>", "bad_protocol"),
    ],
)
async def test_what_nobody_could_mean_is_told_so_before_anything_is_on_record(
    stage: ConsoleStage, store: Store, what: str, field: str, text: str, said: str
) -> None:
    claim = await ConsoleScene(store, NOW).missing_protocol(NORTH, hours=5)
    async with stage.logged_in(Role.BILLING) as browser:
        token = csrf_in(await browser.get(f"/claims/{claim}"))
        form = {"csrf": token, "reason": "x", "unchecked": "yes", field: text}
        answer = await browser.post(f"/claims/{claim}/{what}", data=form)
        assert answer.headers["location"] == f"/claims/{claim}?said={said}"
        assert (await browser.get(answer.headers["location"])).status_code == 200
    assert await store.look(lambda tx: tx.orders.about_claim(claim)) == []


@pytest.mark.parametrize("what", ["resend", "correct", "protocol", "write-off", "cancel"])
async def test_what_is_ordered_of_a_claim_that_has_moved_since_it_was_seen_is_asked_about_again(
    store: Store, what: str
) -> None:
    """It was resent by a colleague, and is in review again for what may be another cause."""
    scene = ConsoleScene(store, NOW)
    claim = await scene.in_review(NORTH, CARD, Team.REGISTRATION, hours=5, due=40)
    async with review_stage(store) as (stage, processes):
        async with stage.logged_in(Role.BILLING_MANAGEMENT) as browser:
            page = await browser.get(f"/claims/{claim}")
            [seen] = set(re.findall(r'name="seen" value="([^"]+)"', page.text))
            await scene.failed(claim, CARD, count=1, hours=1)
            form = {"csrf": csrf_in(page), "seen": seen, "reason": "x", "without_file": "yes"}
            files = {"file": ("", b"")} if what == "correct" else None
            answer = await browser.post(f"/claims/{claim}/{what}", data=form, files=files)
            assert answer.headers["location"].endswith("said=changed_since")
            assert "A cobrança mudou" in (await browser.get(answer.headers["location"])).text
        assert processes.told == []
    assert await store.look(lambda tx: tx.orders.about_claim(claim)) == []
