"""Coming in by a real OpenID provider, and going out of it again."""

from collections.abc import AsyncIterator
from html import unescape
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from domain.access import Role
from persistence.repositories.logins import PEOPLE_CHAIN
from persistence.store import Store
from tests.support.console_stage import ConsoleStage, csrf_in, log_in
from tests.support.openid import ADDRESS, person_at, real_provider
from tests.support.provided_console import browser_of, stage_with
from workers.console.access.people import PeopleDesk
from workers.console.pages.provider_login import PROVIDER_COOKIE
from workers.console.pages.visit import SESSION_COOKIE

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
PEOPLE: dict[str, dict[str, object]] = {
    "u-1": {"name": "Bia Lima", "preferred_username": "bia.lima@hospital.example", "roles": ["fat", "x"]},
    "u-2": {"name": "Caio", "preferred_username": "ana", "email": "ana@hospital.example", "roles": ["fat"]},
    "u-3": {"name": "Davi", "preferred_username": "davi", "roles": ["unknown", "admin"]},
    "u-4": {"name": "Eva", "preferred_username": "local", "realm_access": {"roles": ["auditoria"]}},
}


@pytest.fixture(scope="module")
async def issuer() -> AsyncIterator[str]:
    async with real_provider(PEOPLE) as started:
        yield started


@pytest.fixture
async def provided(store: Store, issuer: str) -> ConsoleStage:
    return stage_with(store, issuer)


async def come_in(browser: httpx.AsyncClient, issuer: str, subject: str, onward: str = "/") -> httpx.Response:
    """From our login page to the provider and back."""
    sent = await browser.get("/login/provider", params={"next": onward})
    assert sent.status_code == 303
    async with person_at(issuer) as person:
        back = await person.says_who(sent.headers["location"], subject)
    return await browser.get(back)


async def test_who_has_a_mapped_role_comes_in_and_is_led_on(provided: ConsoleStage, issuer: str) -> None:
    async with browser_of(provided) as browser:
        page = await browser.get("/login?next=/account")
        assert "Entrar com Hospital" in page.text
        came = await come_in(browser, issuer, "u-1", "/account?x=1")
        assert (came.status_code, came.headers["location"]) == (303, "/account?x=1")
        [cookie] = [c for c in came.headers.get_list("set-cookie") if c.startswith(SESSION_COOKIE)]
        assert {"HttpOnly", "SameSite=lax", "Secure"} <= set(cookie.split("; "))
        assert "Bia Lima" in (await browser.get("/account")).text
    person = await provided.store.look(lambda tx: tx.people.find("bia.lima"))
    assert person
    assert (person.issuer, person.subject, person.password_hash) == (issuer, "u-1", None)
    assert person.roles == {Role.BILLING, Role.QUALITY}


async def test_it_is_asked_with_a_challenge_a_state_and_a_nonce_and_for_our_own_address(
    provided: ConsoleStage,
) -> None:
    async with browser_of(provided) as browser:
        first, second = [
            parse_qs(urlsplit((await browser.get("/login/provider")).headers["location"]).query)
            for _ in range(2)
        ]
    assert first["code_challenge_method"] == ["S256"]
    assert first["redirect_uri"] == [f"{ADDRESS}/login/provider/back"]
    assert all(first[name] != second[name] for name in ("state", "nonce", "code_challenge"))
    assert len({*first["state"], *first["nonce"], *first["code_challenge"]}) == 3


async def test_nobody_is_taken_for_somebody_else_by_a_name_or_an_address(
    provided: ConsoleStage, issuer: str
) -> None:
    await provided.person("ana", [Role.BILLING_MANAGEMENT])
    async with browser_of(provided) as browser:
        await come_in(browser, issuer, "u-2")
        page = (await browser.get("/account")).text
        assert "Caio" in page
        assert "ana-" in page
    everybody = await provided.store.look(lambda tx: tx.people.all())
    assert [(one.login, one.subject) for one in everybody if one.login == "ana"] == [("ana", None)]


async def test_the_same_subject_is_the_same_person_at_every_login(
    provided: ConsoleStage, issuer: str
) -> None:
    for _ in range(2):
        async with browser_of(provided) as browser:
            assert (await come_in(browser, issuer, "u-1")).status_code == 303
    assert len(await provided.store.look(lambda tx: tx.people.all())) == 1


async def test_nobody_gets_a_role_that_is_not_mapped(provided: ConsoleStage, issuer: str) -> None:
    async with browser_of(provided) as browser:
        refused = await come_in(browser, issuer, "u-3")
        assert refused.status_code == 403
        assert "não tem um perfil" in refused.text
        assert SESSION_COOKIE not in browser.cookies
    assert await provided.store.look(lambda tx: tx.people.all()) == []


async def test_roles_may_stand_deeper_in_a_token_and_a_reserved_login_is_given_to_nobody(
    store: Store, issuer: str
) -> None:
    stage = stage_with(store, issuer, oidc_roles_claim="realm_access.roles")
    async with browser_of(stage) as browser:
        assert (await come_in(browser, issuer, "u-4")).status_code == 303
    [person] = await store.look(lambda tx: tx.people.all())
    assert person.roles == {Role.AUDITOR}
    assert person.login.startswith("oidc-")


async def test_other_roles_at_the_provider_are_other_roles_here_from_the_next_login_on(
    store: Store, issuer: str
) -> None:
    async with browser_of(stage_with(store, issuer)) as browser:
        await come_in(browser, issuer, "u-1")
        later = stage_with(store, issuer, oidc_roles={"fat": "viewer"})
        async with browser_of(later) as another:
            await come_in(another, issuer, "u-1")
        assert (await browser.get("/account")).status_code == 303
    [person] = await store.look(lambda tx: tx.people.all())
    assert person.roles == {Role.VIEWER}
    events = await store.look(lambda tx: tx.audit.of_claim("@orders"))
    assert ["person add" in events[0].data, "person roles" in events[1].data] == [True, True]
    assert issuer in events[1].data


async def test_who_was_disabled_here_stays_out_whatever_the_provider_says(
    provided: ConsoleStage, issuer: str
) -> None:
    async with browser_of(provided) as browser:
        await come_in(browser, issuer, "u-1")
        await PeopleDesk(provided.store, "a test").disable("bia.lima", provided.clock.moment)
        assert (await browser.get("/account")).status_code == 303
        refused = await come_in(browser, issuer, "u-1")
        assert refused.status_code == 403
        assert "foi desativado" in refused.text
        assert (await browser.get("/account")).status_code == 303


async def test_a_code_opens_once_and_only_in_the_browser_that_began(
    provided: ConsoleStage, issuer: str
) -> None:
    async with browser_of(provided) as browser, browser_of(provided) as thief, person_at(issuer) as person:
        sent = await browser.get("/login/provider")
        kept = browser.cookies[PROVIDER_COOKIE]
        back = await person.says_who(sent.headers["location"], "u-1")
        assert (await thief.get(back)).status_code == 401
        assert (await browser.get(back)).status_code == 303
        assert PROVIDER_COOKIE not in browser.cookies
        assert (await browser.get(back)).status_code == 401
        thief.cookies.set(PROVIDER_COOKIE, kept)
        replayed = await thief.get(back)
        assert replayed.status_code == 401
        assert SESSION_COOKIE not in thief.cookies


async def test_another_verifier_gets_nothing_for_a_code(provided: ConsoleStage, issuer: str) -> None:
    """A code that was caught on its way is worth nothing without the browser that began."""
    way = provided.console.provider
    assert way
    async with browser_of(provided) as browser, person_at(issuer) as person:
        caught = await person.says_who((await browser.get("/login/provider")).headers["location"], "u-1")
        begun = await way.begin("/")
        assert isinstance(begun, tuple)
        code = parse_qs(urlsplit(caught).query)["code"][0]
        async with browser_of(provided) as thief:
            thief.cookies.set(PROVIDER_COOKIE, begun[0].kept)
            given = {"code": code, "state": begun[0].secrets.state, "iss": issuer}
            assert (await thief.get("/login/provider/back", params=given)).status_code == 401


async def test_who_logs_out_is_led_to_log_out_at_the_provider_too(
    provided: ConsoleStage, issuer: str
) -> None:
    async with browser_of(provided) as browser, person_at(issuer) as person:
        sent = await browser.get("/login/provider")
        await browser.get(await person.says_who(sent.headers["location"], "u-1"))
        page = await browser.get("/account")
        out = await browser.post("/logout", data={"csrf": csrf_in(page)})
        assert SESSION_COOKIE not in browser.cookies
        exit_there = unescape(out.text.split('content="0; url=')[1].split('"')[0])
        assert exit_there.startswith(f"{issuer}/")
        assert await person.logs_out(exit_there) == f"{ADDRESS}/login"
        assert (await browser.get("/account")).status_code == 303


async def test_passwords_may_be_switched_off(store: Store, issuer: str) -> None:
    stage = stage_with(store, issuer, password_login=False)
    await stage.person("ana", [Role.ADMIN])
    async with browser_of(stage) as browser:
        page = await browser.get("/login")
        assert 'name="password"' not in page.text
        link = await browser.get("/login/link")
        form = {"csrf": csrf_in(link), "login": "ana", "password": "correct horse battery"}
        assert (await browser.post("/login", data=form)).status_code == 403
        assert (await come_in(browser, issuer, "u-1")).status_code == 303


async def test_who_comes_by_the_provider_gets_no_password_no_link_and_no_roles_here(
    provided: ConsoleStage, issuer: str
) -> None:
    await provided.person("ana", [Role.ADMIN])
    async with browser_of(provided) as browser:
        await come_in(browser, issuer, "u-1")
        account = await browser.get("/account")
        assert "/account/password" not in account.text
        chosen = {"csrf": csrf_in(account), "password": "a password of some length"}
        assert (await browser.post("/account/password", data=chosen)).headers["location"] == "/account"
    async with browser_of(provided) as admin:
        await log_in(admin, "ana")
        page = await admin.get("/people/bia.lima")
        form = {"csrf": csrf_in(page), "password": "a password of some length", "role_admin": "1"}
        for act in ("password", "link", "roles"):
            assert f'/people/bia.lima/{act}"' not in page.text
            answer = await admin.post(f"/people/bia.lima/{act}", data=form)
            assert answer.headers["location"] == "/people/bia.lima"
    person = await provided.store.look(lambda tx: tx.people.find("bia.lima"))
    assert person
    assert person.password_hash is None
    assert person.roles == {Role.BILLING, Role.QUALITY}


async def test_a_provider_may_sign_with_keys_of_another_kind(store: Store) -> None:
    async with (
        real_provider(PEOPLE, id_token_signed_response_alg="ES256") as issuer,
        browser_of(stage_with(store, issuer)) as browser,
    ):
        assert (await come_in(browser, issuer, "u-1")).status_code == 303


async def test_logins_by_the_provider_are_sealed_with_who_and_how(
    provided: ConsoleStage, issuer: str
) -> None:
    for subject in ("u-1", "u-3"):
        async with browser_of(provided) as browser:
            await come_in(browser, issuer, subject)
    events = await provided.store.look(lambda tx: tx.audit.of_claim(PEOPLE_CHAIN))
    assert '"by":"Bia Lima (bia.lima, console)"' in events[0].data
    assert '"way":"provider"' in events[0].data
    assert '"why":"no_role"' in events[-1].data
