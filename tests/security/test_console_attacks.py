"""What somebody tries in the console who should not: tags in fields, stolen sessions, other names for us."""

import re
from collections.abc import Awaitable, Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

import workers.console
from domain.access import Role
from domain.catalog import Team
from domain.payer_status import PayerState
from persistence.repositories.claims import Arrival
from persistence.store import Store, Transaction
from tests.support.builders import NOW, later
from tests.support.console_scene import ConsoleScene
from tests.support.console_stage import PASSWORD, ConsoleStage, console_stage, csrf_in
from workers.console.access.people import PeopleDesk
from workers.console.guard import Page
from workers.console.pages.claims import _line
from workers.console.pages.visit import SESSION_COOKIE
from workers.console.routes import PAGES

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
EVIL = "\"'><x-evil onx=1>{{7777*11}}"
CLAIM, PAYER = f"CLM-1-{EVIL}", f"payer {EVIL}"
TEMPLATES = Path(workers.console.__file__).parent / "templates"
NAMES = sorted(
    {name for file in TEMPLATES.glob("*.html") for name in re.findall(r'name="(\w+)"', file.read_text())}
)
QUERY = dict.fromkeys([*NAMES, "said", "lang", "sort", "after", "kpi", "day", "week", "of", "bye"], EVIL)
ENDS = {"/logout", "/account/password"}


class Tags(HTMLParser):
    """Finds tags and attributes that no template has."""

    found = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= tag == "x-evil" or any(name == "onx" for name, _ in attrs)


def is_clean(text: str) -> bool:
    tags = Tags()
    tags.feed(text)
    return not tags.found and str(7777 * 11) not in text


def is_download(answer: httpx.Response) -> bool:
    """Whether a browser keeps it as a file, and takes it for nothing else."""
    kind, place = answer.headers["content-type"], answer.headers.get("content-disposition", "")
    return kind.startswith("text/csv") and place.startswith("attachment")


def address(page: Page, bulk_id: str = "1") -> str:
    named = {"claim_id": CLAIM, "payer_id": PAYER, "login": "eve", "bulk_id": bulk_id}
    return re.sub(r"\{(\w+)(?::path)?\}", lambda found: quote(named.get(found[1], EVIL), safe=""), page.path)


@pytest.fixture
async def stage(store: Store) -> ConsoleStage:
    return console_stage(store)


@pytest.fixture
async def evil(stage: ConsoleStage) -> ConsoleStage:
    """The console, with a tag in every record that can hold one."""
    scene = ConsoleScene(stage.store, NOW)
    await scene.payer(PAYER, PayerState.OPEN)
    await scene.in_review(PAYER, EVIL[:20], Team.REGISTRATION, hours=3, due=30)
    await scene.failed(await scene.waiting(PAYER, minutes=5, count=1), EVIL, count=2, hours=1)
    await scene.held(PAYER, hours=1)
    arrival = Arrival(CLAIM, PAYER, later(hours=9), "hash", EVIL)

    async def receive(tx: Transaction) -> None:
        await tx.claims.receive_all([(arrival, NOW)])
        await tx.journal.write(CLAIM, "received", EVIL, now=NOW)

    await stage.store.run(receive)
    await scene.stick(CLAIM)
    await stage.person("eve", [Role.VIEWER], name=EVIL)
    return stage


async def test_no_field_of_any_form_gets_a_tag_into_a_page(evil: ConsoleStage) -> None:
    roles = set(Role) - {Role.AUDITOR}
    async with evil.logged_in(*roles) as browser, evil.logged_in(Role.AUDITOR, login="olga") as auditor:
        token = csrf_in(await browser.get("/account"))
        for page in (one for one in PAGES if one.method == "POST" and one.path not in ENDS):
            await _require_clean(browser, page, token)
        for page in (one for one in PAGES if one.method == "GET"):
            for person in (browser, auditor):
                for query in ({}, QUERY):
                    answer = await person.get(address(page), params=query)
                    assert answer.status_code < 500, (page.path, query)
                    assert is_clean(answer.text) or is_download(answer), (page.path, query)


async def _require_clean(browser: httpx.AsyncClient, page: Page, token: str) -> None:
    fields = dict.fromkeys(NAMES, EVIL) | {"csrf": token}
    sent: dict[str, Any] = {"data": fields}
    if page.takes_file:
        sent |= {"files": {"file": (EVIL, EVIL.encode())}}
    answer = await browser.post(address(page), **sent)
    assert answer.status_code < 500 or answer.status_code == 503, page.path
    assert is_clean(answer.text), page.path
    assert "\n" not in answer.headers.get("location", "")
    assert re.match(r"/(?![/\\])", answer.headers.get("location", "/")), page.path


async def test_every_page_is_kept_by_nobody(evil: ConsoleStage) -> None:
    async with evil.logged_in(*(set(Role) - {Role.AUDITOR})) as browser:
        for page in (one for one in PAGES if one.method == "GET"):
            headers = (await browser.get(address(page))).headers
            assert headers["cache-control"] == "no-store", page.path
            assert headers["x-content-type-options"] == "nosniff", page.path


Ending = Callable[[ConsoleStage, httpx.AsyncClient], Awaitable[object]]


async def _log_out(_: ConsoleStage, browser: httpx.AsyncClient) -> object:
    return await browser.post("/logout", data={"csrf": csrf_in(await browser.get("/account"))})


async def _change_password(_: ConsoleStage, browser: httpx.AsyncClient) -> object:
    form = {"csrf": csrf_in(await browser.get("/account")), "old": PASSWORD}
    return await browser.post("/account/password", data=form | {"password": "another good password"})


async def _disable(stage: ConsoleStage, _: httpx.AsyncClient) -> None:
    await PeopleDesk(stage.store, "a test").disable("ana", stage.clock.moment)


async def _change_roles(stage: ConsoleStage, _: httpx.AsyncClient) -> None:
    await PeopleDesk(stage.store, "a test").set_roles("ana", [Role.QUALITY], stage.clock.moment)


@pytest.mark.parametrize("ending", [_log_out, _change_password, _disable, _change_roles])
async def test_a_stolen_session_is_out_at_once(stage: ConsoleStage, ending: Ending) -> None:
    async with stage.logged_in(Role.VIEWER) as browser, stage.browser() as thief:
        thief.cookies.set(SESSION_COOKIE, browser.cookies[SESSION_COOKIE])
        token = csrf_in(await thief.get("/account"))
        await ending(stage, browser)
        assert (await thief.get("/account")).status_code == 303
        forged = await thief.post("/account/language", data={"csrf": token, "language": "en"})
        assert forged.headers["location"].startswith("/login")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8095", "127.0.0.1.evil.example", "", "[", "10.0.0.7"]
)
async def test_nobody_is_answered_under_another_sites_name(stage: ConsoleStage, host: str) -> None:
    """A name of another site that leads to this machine would make its pages ours."""
    async with stage.browser() as browser:
        answer = await browser.get("/login", headers={"host": host})
        assert answer.status_code == 421
        assert answer.text == ""
        assert "content-security-policy" in answer.headers


@pytest.mark.parametrize("host", ["127.0.0.1:8095", "localhost:9", "[::1]:8095", "LOCALHOST"])
async def test_this_machine_has_more_names_than_one(stage: ConsoleStage, host: str) -> None:
    async with stage.browser() as browser:
        assert (await browser.get("/login", headers={"host": host})).status_code == 200


async def test_links_name_our_known_address_whatever_a_browser_calls_us(stage: ConsoleStage) -> None:
    known = console_stage(stage.store, base_url="http://127.0.0.1:8095")
    await known.person("eve", [Role.VIEWER])
    async with known.logged_in(Role.ADMIN) as browser:
        form = {"csrf": csrf_in(await browser.get("/account"))}
        page = await browser.post("/people/eve/link", data=form, headers={"host": "evil.example"})
        assert 'value="http://127.0.0.1:8095/login/link?token=' in page.text
        assert "evil.example" not in page.text


@pytest.mark.parametrize(
    "sign", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"]
)
def test_no_cell_is_reckoned_with(sign: str, kind: str) -> None:
    assert _line([f"{sign}cmd|'/c calc'!A0", "plain"]).lstrip('"').startswith("'")


@pytest.mark.parametrize(
    ("content", "kind_of"),
    [
        (b"&".join(b"a%d=1" % n for n in range(20_000))[:60_000], "application/x-www-form-urlencoded"),
        (b"a=1&" * 15_000, "application/x-www-form-urlencoded"),
        (b"csrf=x", "text/plain"),
        (b'{"csrf":"x"}', "application/json"),
    ],
)
async def test_a_form_that_is_a_bomb_or_none_is_refused(
    stage: ConsoleStage, content: bytes, kind_of: str
) -> None:
    async with stage.logged_in(Role.VIEWER) as browser:
        head = {"content-type": kind_of}
        answer = await browser.post("/account/language", content=content, headers=head)
        assert answer.status_code in (400, 413)


def _parts(number: int, name: str, filename: str = "") -> bytes:
    head = f'--b\r\nContent-Disposition: form-data; name="{name}"{filename}\r\n\r\nx\r\n'
    return head.encode() * number + b"--b--\r\n"


@pytest.mark.parametrize(
    "content",
    [
        _parts(60, "f"),
        _parts(3, "file", '; filename="x.xml"'),
        b"--b\r\n" + b"X-Header: y\r\n" * 4_000,
        b"no parts at all",
    ],
    ids=["many fields", "many files", "endless headers", "no parts"],
)
async def test_an_upload_that_is_a_bomb_or_none_is_refused(stage: ConsoleStage, content: bytes) -> None:
    async with stage.logged_in(Role.BILLING) as browser:
        head = {"content-type": "multipart/form-data; boundary=b"}
        answer = await browser.post(f"/claims/{quote(CLAIM, safe='')}/correct", content=content, headers=head)
        assert answer.status_code in (400, 403, 413)
