"""Coming in and going out: what a person sees, and what somebody tries who is not that person."""

from datetime import timedelta

import httpx
import pytest

from domain.access import Role
from persistence.repositories.people import Person
from tests.support.console_stage import BASE, PASSWORD, ConsoleStage, console_stage, csrf_in, log_in
from workers.console.access.passwords import Fit
from workers.console.access.people import PeopleDesk
from workers.console.access.tokens import token_hash
from workers.console.pages.visit import FORM_COOKIE, SESSION_COOKIE
from workers.console.serving import Served
from workers.demo.run import _where

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)  # both: test_people_on_record


@pytest.fixture
async def ana(stage: ConsoleStage) -> Person:
    return await stage.person("ana", [Role.VIEWER])


async def is_in(browser: httpx.AsyncClient) -> bool:
    return (await browser.get("/account")).status_code == 200


async def test_the_right_password_opens_a_session_in_a_cookie_that_scripts_do_not_see(
    stage: ConsoleStage, ana: Person
) -> None:
    async with stage.browser() as browser:
        came = await log_in(browser, "ana")
        assert (came.status_code, came.headers["location"]) == (303, "/")
        [cookie] = [c for c in came.headers.get_list("set-cookie") if c.startswith(SESSION_COOKIE)]
        assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
        assert "Secure" not in cookie  # by http on this machine alone
        assert await is_in(browser)


async def test_cookies_ask_for_https_where_people_come_by_it(stage: ConsoleStage) -> None:
    safe = console_stage(stage.store, base_url="https://reenvio.example")
    await safe.person("ana", [Role.VIEWER])
    async with safe.browser() as browser:
        page = await browser.get("/login")
        assert "Secure" in page.headers["set-cookie"]
        assert page.headers["strict-transport-security"]


async def test_the_database_holds_no_token(stage: ConsoleStage, ana: Person) -> None:
    async with stage.browser() as browser:
        await log_in(browser, "ana")
        token = browser.cookies[SESSION_COOKIE]
        now = stage.clock.moment
        found = await stage.store.look(lambda tx: tx.people_sessions.find(token, now=now))
        assert found is None
        kept = await stage.store.look(lambda tx: tx.people_sessions.find(token_hash(token), now=now))
        assert kept
        assert kept.person.login == "ana"


@pytest.mark.parametrize("login", ["ana", "nobody", "Not A Login", "' OR 1=1 --"])
async def test_a_wrong_password_and_an_unknown_login_are_told_alike(
    stage: ConsoleStage, ana: Person, login: str
) -> None:
    async with stage.browser() as browser:
        refused = await log_in(browser, login, "wrong password")
        assert refused.status_code == 401
        assert "Usuário ou senha não conferem." in refused.text
        assert not await is_in(browser)


async def test_a_login_may_be_typed_in_capitals(stage: ConsoleStage, ana: Person) -> None:
    async with stage.browser() as browser:
        assert (await log_in(browser, " ANA ")).status_code == 303


async def test_who_is_not_in_is_led_to_the_login_and_back(stage: ConsoleStage, ana: Person) -> None:
    async with stage.browser() as browser:
        led = await browser.get("/account?x=1")
        assert (led.status_code, led.headers["location"]) == (303, "/login?next=%2Faccount%3Fx%3D1")
        page = await browser.get(led.headers["location"])
        assert 'name="next" value="/account?x=1"' in page.text
        came = await log_in(browser, "ana", next="/account?x=1")
        assert came.headers["location"] == "/account?x=1"


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"]
)
async def test_the_login_leads_to_no_other_site(stage: ConsoleStage, ana: Person, target: str) -> None:
    async with stage.browser() as browser:
        page = await browser.get("/login", params={"next": target})
        assert 'name="next" value="/"' in page.text
        came = await log_in(browser, "ana", next=target)
        assert came.headers["location"] == "/"
        again = await browser.get("/login", params={"next": target})
        assert again.headers["location"] == "/"


async def test_a_session_planted_before_the_login_opens_nothing(stage: ConsoleStage, ana: Person) -> None:
    planted = "planted-by-somebody-else"
    async with stage.browser() as victim, stage.browser() as attacker:
        victim.cookies.set(SESSION_COOKIE, planted, domain="127.0.0.1")
        await log_in(victim, "ana")
        assert victim.cookies[SESSION_COOKIE] != planted
        attacker.cookies.set(SESSION_COOKIE, planted)
        assert not await is_in(attacker)


async def test_coming_in_anew_ends_the_session_before(stage: ConsoleStage, ana: Person) -> None:
    async with stage.browser() as browser, stage.browser() as thief:
        await log_in(browser, "ana")
        thief.cookies.set(SESSION_COOKIE, browser.cookies[SESSION_COOKIE])
        token = await stage.console.entrance.offer_link(ana)
        page = await browser.get("/login/link", params={"token": token})
        await browser.post("/login/link", data={"csrf": csrf_in(page), "token": token})
        assert await is_in(browser)
        assert not await is_in(thief)


async def test_a_stolen_session_opens_nothing_after_logout(stage: ConsoleStage) -> None:
    async with stage.logged_in(Role.VIEWER) as browser, stage.browser() as thief:
        thief.cookies.set(SESSION_COOKIE, browser.cookies[SESSION_COOKIE])
        assert await is_in(thief)
        out = await browser.post("/logout", data={"csrf": csrf_in(await browser.get("/account"))})
        assert (out.status_code, out.headers["location"]) == (303, "/login?bye=1&lang=pt")
        assert SESSION_COOKIE not in browser.cookies
        assert not await is_in(thief)


async def test_a_session_ends_by_itself(stage: ConsoleStage) -> None:
    async with stage.logged_in(Role.VIEWER) as browser:
        for _ in range(12):
            stage.clock.wait(minutes=49)
            assert await is_in(browser)
        stage.clock.wait(minutes=13)
        assert not await is_in(browser)


async def test_a_session_ends_when_nobody_is_there(stage: ConsoleStage) -> None:
    async with stage.logged_in(Role.VIEWER) as browser:
        stage.clock.wait(minutes=61)
        assert not await is_in(browser)
        stage.clock.wait(minutes=-61)
        assert not await is_in(browser)


async def test_who_is_disabled_is_out_at_once_and_comes_in_no_more(stage: ConsoleStage) -> None:
    async with stage.logged_in(Role.VIEWER) as browser:
        await PeopleDesk(stage.store, "a test").disable("ana", stage.clock.moment)
        assert not await is_in(browser)
        assert (await log_in(browser, "ana")).status_code == 401


async def test_another_password_ends_all_sessions_and_links(stage: ConsoleStage) -> None:
    async with stage.logged_in(Role.VIEWER) as browser:
        person = await stage.store.look(lambda tx: tx.people.find("ana"))
        assert person
        link = await stage.console.entrance.offer_link(person)
        hashed = await stage.console.entrance.passwords.hashed("another long password")
        await PeopleDesk(stage.store, "a test").set_password("ana", hashed, stage.clock.moment)
        assert not await is_in(browser)
        assert await stage.console.entrance.by_link(link) is None
        assert (await log_in(browser, "ana")).status_code == 401
        assert (await log_in(browser, "ana", "another long password")).status_code == 303


async def test_a_link_opens_once_and_looking_does_not_spend_it(stage: ConsoleStage, ana: Person) -> None:
    token = await stage.console.entrance.offer_link(ana)
    async with stage.browser() as first, stage.browser() as second:
        await second.get("/login/link", params={"token": token})
        for browser, status in ((first, 303), (second, 401)):
            page = await browser.get("/login/link", params={"token": token})
            came = await browser.post("/login/link", data={"csrf": csrf_in(page), "token": token})
            assert came.status_code == status
        assert await is_in(first)
        assert not await is_in(second)


async def test_a_link_is_over_after_a_while(stage: ConsoleStage, ana: Person) -> None:
    token = await stage.console.entrance.offer_link(ana)
    stage.clock.wait(minutes=16)
    assert await stage.console.entrance.by_link(token) is None


async def test_five_wrong_passwords_and_no_more_is_looked_at_for_a_while(
    stage: ConsoleStage, ana: Person
) -> None:
    async with stage.browser() as browser:
        assert [(await log_in(browser, "ana", "wrong")).status_code for _ in range(5)] == [401] * 5
        assert (await log_in(browser, "ana")).status_code == 429
        stage.clock.wait(minutes=16)
        assert (await log_in(browser, "ana")).status_code == 303


async def test_guessing_from_elsewhere_keeps_nobody_out_at_once(stage: ConsoleStage, ana: Person) -> None:
    async with stage.browser(address="10.9.9.9") as guesser, stage.browser() as browser:
        for _ in range(6):
            await log_in(guesser, "ana", "wrong")
        assert (await log_in(guesser, "ana")).status_code == 429
        assert (await log_in(browser, "ana")).status_code == 303


async def test_a_place_that_tries_many_logins_is_stopped(stage: ConsoleStage, ana: Person) -> None:
    async with stage.browser() as browser:
        statuses = [(await log_in(browser, f"nobody{n}", "wrong")).status_code for n in range(51)]
    assert statuses == [401] * 50 + [429]


async def test_what_was_typed_as_a_login_is_kept_nowhere(stage: ConsoleStage) -> None:
    async with stage.browser() as browser:
        await log_in(browser, PASSWORD, "wrong")
    since, now = stage.clock.moment - timedelta(hours=1), stage.clock.moment
    counts = await stage.store.run(lambda tx: tx.login_trials.count([PASSWORD], now=now, since=since))
    assert counts == {PASSWORD: 1}


@pytest.mark.parametrize("token", ["", "forged", None])
async def test_a_login_form_that_is_not_ours_is_refused(
    stage: ConsoleStage, ana: Person, token: str | None
) -> None:
    async with stage.browser() as browser:
        await browser.get("/login")
        data = {"login": "ana", "password": PASSWORD} | ({} if token is None else {"csrf": token})
        refused = await browser.post("/login", data=data)
        assert refused.status_code == 403
        assert SESSION_COOKIE not in browser.cookies
        browser.cookies.delete(FORM_COOKIE)
        assert (await browser.post("/login", data=data | {"csrf": ""})).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}],
)
async def test_a_form_from_another_site_is_refused_whatever_token_it_bears(
    stage: ConsoleStage, headers: dict[str, str]
) -> None:
    async with stage.logged_in(Role.VIEWER) as browser:
        data = {"csrf": csrf_in(await browser.get("/account")), "language": "en"}
        assert (await browser.post("/account/language", data=data, headers=headers)).status_code == 403
        own = {"origin": BASE, "sec-fetch-site": "same-origin"}
        assert (await browser.post("/account/language", data=data, headers=own)).status_code == 303


async def test_somebody_elses_token_is_no_token(stage: ConsoleStage) -> None:
    async with stage.logged_in(Role.VIEWER) as ana, stage.logged_in(Role.VIEWER, login="bia") as bia:
        token = csrf_in(await bia.get("/account"))
        assert (await ana.post("/logout", data={"csrf": token})).status_code == 403
        assert await is_in(ana)


@pytest.mark.parametrize("content", [b"x=" + b"a" * 70_000, b"&".join(b"a%d=1" % n for n in range(60))])
async def test_a_form_larger_than_any_of_ours_is_refused(stage: ConsoleStage, content: bytes) -> None:
    async with stage.browser() as browser:
        head = {"content-type": "application/x-www-form-urlencoded"}
        assert (await browser.post("/login", content=content, headers=head)).status_code in (400, 413)


async def test_a_body_that_does_not_say_its_size_is_refused(stage: ConsoleStage) -> None:
    async def endless() -> object:
        yield b"csrf=x"

    async with stage.browser() as browser:
        head = {"content-type": "application/x-www-form-urlencoded"}
        answer = await browser.post("/login", content=endless(), headers=head)  # type: ignore[arg-type]
        assert answer.status_code == 413


async def test_the_language_is_kept_with_the_person(stage: ConsoleStage) -> None:
    async with stage.logged_in(Role.VIEWER) as browser:
        page = await browser.get("/account")
        assert "Minha conta" in page.text
        await browser.post("/account/language", data={"csrf": csrf_in(page), "language": "en"})
        assert "My account" in (await browser.get("/account")).text
    async with stage.browser() as another:
        await log_in(another, "ana")
        assert '<html lang="en">' in (await another.get("/account")).text


async def test_the_login_page_speaks_english_when_asked(stage: ConsoleStage) -> None:
    async with stage.browser() as browser:
        assert '<html lang="pt-BR">' in (await browser.get("/login")).text
        assert "Password" in (await browser.get("/login?lang=en")).text


async def test_a_login_under_way_does_not_outlive_another_password(
    stage: ConsoleStage, ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords, desk = stage.console.entrance.passwords, PeopleDesk(stage.store, "a test")
    other, compare = await passwords.hashed("another good password"), passwords.compare

    async def meanwhile(kept: str | None, password: str) -> Fit:
        fit = await compare(kept, password)
        await desk.set_password("ana", other, stage.clock.moment)
        return fit

    monkeypatch.setattr(passwords, "compare", meanwhile)
    async with stage.browser() as browser:
        await log_in(browser, "ana")
        assert not await is_in(browser)
    kept = await stage.store.look(lambda tx: tx.people.find("ana"))
    assert kept
    assert kept.password_hash == other


async def test_the_demo_says_where_it_can_be_watched(stage: ConsoleStage) -> None:
    told = await _where(Served("http://127.0.0.1:1", stage.console))
    assert told.startswith("CONSOLE: ")
    assert await stage.console.entrance.by_link(told.rpartition("token=")[2])
