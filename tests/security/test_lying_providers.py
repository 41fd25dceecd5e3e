"""A login provider that lies, is another's, or is away; and whoever sits between it and a browser.

The first test shows that the provider's truth lets somebody in: each other one changes one thing.
"""

import base64
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from urllib.parse import parse_qs, unquote, urlsplit

import httpx
import pytest
from joserfc.jwk import ECKey, RSAKey

from gateways.oidc.asking import BYTES
from gateways.oidc.trouble import Doubt
from persistence.audit.event_data import event_data
from persistence.repositories.logins import PEOPLE_CHAIN
from persistence.store import Store
from tests.support.console_stage import ConsoleStage
from tests.support.lying_provider import (
    ACCESS_TOKEN,
    LyingProvider,
    hash_of,
    lying_provider,
    public_key_as_secret,
    strange_key,
    unsigned,
    with_foreign_rule,
)
from tests.support.openid import CLIENT_ID, CLIENT_SECRET
from tests.support.provided_console import browser_of, stage_with
from workers.console.pages.provider_login import PROVIDER_COOKIE
from workers.console.pages.visit import SESSION_COOKIE

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
Lie = Callable[[LyingProvider], None]


@pytest.fixture
async def liar() -> AsyncIterator[LyingProvider]:
    async with lying_provider() as served:
        yield served


@pytest.fixture
async def stage(store: Store, liar: LyingProvider) -> ConsoleStage:
    return stage_with(store, liar.issuer)


async def begin(browser: httpx.AsyncClient, liar: LyingProvider, onward: str = "/") -> dict[str, str]:
    """Off to the provider; what an honest one would send back."""
    sent = await browser.get("/login/provider", params={"next": onward})
    assert sent.status_code == 303, sent.text
    asked = {name: value[0] for name, value in parse_qs(urlsplit(sent.headers["location"]).query).items()}
    liar.nonce = asked["nonce"]
    return {"code": "a-code", "state": asked["state"], "iss": liar.issuer}


async def come_back(browser: httpx.AsyncClient, given: dict[str, str]) -> httpx.Response:
    return await browser.get("/login/provider/back", params=given)


async def why_refused(stage: ConsoleStage) -> list[object]:
    events = await stage.store.look(lambda tx: tx.audit.of_claim(PEOPLE_CHAIN))
    return [event_data(event).get("why") for event in events]


async def require_refused(stage: ConsoleStage, browser: httpx.AsyncClient, answer: httpx.Response) -> None:
    assert answer.status_code in (401, 403, 503)
    assert SESSION_COOKIE not in browser.cookies
    assert (await browser.get("/account")).status_code == 303
    assert await stage.store.look(lambda tx: tx.people.all()) == []


async def test_the_truth_lets_somebody_in(stage: ConsoleStage, liar: LyingProvider) -> None:
    async with browser_of(stage) as browser:
        came = await come_back(browser, await begin(browser, liar))
        assert came.status_code == 303
        assert (await browser.get("/account")).status_code == 200
    pair = base64.b64decode(liar.authorization.removeprefix("Basic ")).decode().split(":")
    assert [unquote(part) for part in pair] == [CLIENT_ID, CLIENT_SECRET]
    assert "client_secret" not in liar.forms[0]


async def test_the_secret_goes_in_the_form_where_the_provider_takes_it_there(
    stage: ConsoleStage, liar: LyingProvider
) -> None:
    liar.discovery = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    async with browser_of(stage) as browser:
        assert (await come_back(browser, await begin(browser, liar))).status_code == 303
    assert (liar.forms[0]["client_id"], liar.forms[0]["client_secret"]) == (CLIENT_ID, CLIENT_SECRET)
    assert liar.authorization == ""


def says(**claims: object) -> Lie:
    return lambda liar: liar.claims.update(claims)


def omits(*names: str) -> Lie:
    def lie(liar: LyingProvider) -> None:
        liar.left_out = names

    return lie


def moved(name: str, seconds: int) -> Lie:
    """A moment so many seconds from now."""
    return lambda liar: liar.claims.update({name: int(datetime.now(UTC).timestamp()) + seconds})


def signs(**how: object) -> Lie:
    def lie(liar: LyingProvider) -> None:
        for name, value in how.items():
            setattr(liar, name, value)

    return lie


def forges(made: Callable[[dict[str, object]], str]) -> Lie:
    def lie(liar: LyingProvider) -> None:
        liar.minted = lambda: made(liar.honest())  # type: ignore[method-assign]

    return lie


def own_key_in_the_header(liar: LyingProvider) -> None:
    """A token that brings along the key to check it by."""
    liar.key = strange_key()
    liar.header = {"alg": "RS256", "jwk": strange_key().as_dict(private=False), "kid": "own"}


def own_key_elsewhere(liar: LyingProvider) -> None:
    liar.key = strange_key()
    liar.header = {"alg": "RS256", "jku": "https://evil.example/keys", "kid": "own"}


def strange_signature(liar: LyingProvider) -> None:
    liar.key = strange_key()


def curve_signature(liar: LyingProvider) -> None:
    liar.key = ECKey.generate_key("P-256", {"kid": "own"})
    liar.header = {"alg": "ES256", "kid": "own"}


LIES: dict[str, tuple[Lie, Doubt]] = {
    "another issuer": (says(iss="https://evil.example"), Doubt.ISSUER),
    "our issuer with a slash": (lambda liar: liar.claims.update(iss=liar.issuer + "/"), Doubt.ISSUER),
    "no issuer": (omits("iss"), Doubt.ISSUER),
    "for another client": (says(aud="another client"), Doubt.AUDIENCE),
    "for other clients": (says(aud=["another client", "a third"]), Doubt.AUDIENCE),
    "for nobody": (omits("aud"), Doubt.AUDIENCE),
    "for an object": (says(aud={CLIENT_ID: 1}), Doubt.AUDIENCE),
    "for us and another, got by nobody": (says(aud=[CLIENT_ID, "another"]), Doubt.PARTY),
    "for us and another, got by another": (says(aud=[CLIENT_ID, "another"], azp="another"), Doubt.PARTY),
    "for us, got by another": (says(azp="another"), Doubt.PARTY),
    "expired": (moved("exp", -61), Doubt.EXPIRED),
    "without an end": (omits("exp"), Doubt.EXPIRED),
    "with an end that is no number": (says(exp="tomorrow"), Doubt.EXPIRED),
    "with an end that is no moment": (says(exp=float("nan")), Doubt.EXPIRED),
    "with an end beyond all numbers": (says(exp=float("inf")), Doubt.EXPIRED),
    "begun beyond all numbers": (says(nbf=10**400), Doubt.TOO_EARLY),
    "made long ago": (moved("iat", -700), Doubt.STALE),
    "made at no time": (omits("iat"), Doubt.STALE),
    "made in the future": (moved("iat", 120), Doubt.TOO_EARLY),
    "not yet to be used": (moved("nbf", 120), Doubt.TOO_EARLY),
    "another login's nonce": (says(nonce="another"), Doubt.NONCE),
    "no nonce": (omits("nonce"), Doubt.NONCE),
    "a nonce that is no text": (says(nonce=["x"]), Doubt.NONCE),
    "another access token": (says(at_hash=hash_of("another")), Doubt.ACCESS_TOKEN),
    "an empty mark of the access token": (says(at_hash=""), Doubt.ACCESS_TOKEN),
    "nobody": (omits("sub"), Doubt.SUBJECT),
    "an empty subject": (says(sub=""), Doubt.SUBJECT),
    "a subject that is no text": (says(sub=7), Doubt.SUBJECT),
    "a subject that fits no column": (says(sub="a\0b"), Doubt.SUBJECT),
    "a subject without end": (says(sub="a" * 256), Doubt.SUBJECT),
    "unsigned": (forges(unsigned), Doubt.ALGORITHM),
    "signed with the public key as a secret": (forges(public_key_as_secret), Doubt.ALGORITHM),
    "signed with another's key of the same name": (strange_signature, Doubt.SIGNATURE),
    "signed with a key that it brings along": (own_key_in_the_header, Doubt.MALFORMED),
    "signed with a key of another name": (signs(header={"alg": "RS256", "kid": "other"}), Doubt.KEY),
    "signed by another kind of key": (curve_signature, Doubt.MALFORMED),
    "an algorithm that we do not take": (signs(header={"alg": "RS512", "kid": "own"}), Doubt.ALGORITHM),
    "no token": (signs(token="no token"), Doubt.MALFORMED),
    "a token with a foreign rule": (forges(with_foreign_rule), Doubt.MALFORMED),
    "a key that is to be fetched elsewhere": (own_key_elsewhere, Doubt.SIGNATURE),
    "the code was spent": (signs(status=400), Doubt.CODE),
    "we are not known": (signs(status=401), Doubt.CODE),
}


@pytest.mark.parametrize("name", LIES)
async def test_a_lie_lets_nobody_in(stage: ConsoleStage, liar: LyingProvider, name: str) -> None:
    lie, doubt = LIES[name]
    async with browser_of(stage) as browser:
        given = await begin(browser, liar)
        lie(liar)
        answer = await come_back(browser, given)
        await require_refused(stage, browser, answer)
        assert "não se confirmou" in answer.text
    assert await why_refused(stage) == [doubt]


@pytest.mark.parametrize(("name", "seconds"), [("exp", -30), ("iat", 30), ("nbf", 30)])
async def test_clocks_may_differ_a_little(
    stage: ConsoleStage, liar: LyingProvider, name: str, seconds: int
) -> None:
    async with browser_of(stage) as browser:
        given = await begin(browser, liar)
        moved(name, seconds)(liar)
        assert (await come_back(browser, given)).status_code == 303


ANSWERS: dict[str, tuple[dict[str, str | None], Doubt]] = {
    "another state": ({"state": "another"}, Doubt.STATE),
    "an empty state": ({"state": ""}, Doubt.STATE),
    "no state": ({"state": None}, Doubt.STATE),
    "from another provider": ({"iss": "https://evil.example"}, Doubt.SENDER),
    "from who does not say who it is": ({"iss": None}, Doubt.SENDER),
    "an error": ({"error": "access_denied", "error_description": "<b>evil</b>"}, Doubt.REFUSED),
    "no code": ({"code": None}, Doubt.CODE),
    "an empty code": ({"code": ""}, Doubt.CODE),
    "a code without end": ({"code": "c" * 5_000}, Doubt.CODE),
    "an answer without end": ({"more": "c" * 9_000}, Doubt.STATE),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_that_does_not_belong_to_this_login_lets_nobody_in(
    stage: ConsoleStage, liar: LyingProvider, name: str
) -> None:
    changes, doubt = ANSWERS[name]
    async with browser_of(stage) as browser:
        given = {**await begin(browser, liar), **changes}
        answer = await come_back(browser, {name: value for name, value in given.items() if value is not None})
        await require_refused(stage, browser, answer)
        assert "evil" not in answer.text
    assert await why_refused(stage) == [doubt]
    assert "token" not in liar.asked


async def test_an_answer_that_says_something_twice_is_none(stage: ConsoleStage, liar: LyingProvider) -> None:
    async with browser_of(stage) as browser:
        given = await begin(browser, liar)
        query = httpx.QueryParams([*given.items(), ("code", "another")])
        await require_refused(stage, browser, await browser.get(f"/login/provider/back?{query}"))


async def test_a_login_that_somebody_else_began_is_not_ended_here(
    stage: ConsoleStage, liar: LyingProvider
) -> None:
    """Else an attacker would have people work, unknowing, under the attacker's name."""
    async with browser_of(stage) as attacker, browser_of(stage) as victim:
        given = await begin(attacker, liar)
        await require_refused(stage, victim, await come_back(victim, given))
        await begin(victim, liar)
        await require_refused(stage, victim, await come_back(victim, given))


@pytest.mark.parametrize("how", ["later", "elsewhere", "twice"])
async def test_what_the_browser_keeps_cannot_be_changed_or_used_again(
    stage: ConsoleStage, liar: LyingProvider, how: str
) -> None:
    async with browser_of(stage) as browser:
        given = await begin(browser, liar, "/account")
        kept = browser.cookies[PROVIDER_COOKIE]
        if how == "later":
            stage.clock.wait(minutes=11)
        elif how == "elsewhere":
            secret, began, _ = kept.split(".")
            other = base64.urlsafe_b64encode(b"/claims").rstrip(b"=").decode()
            browser.cookies.clear()
            browser.cookies.set(PROVIDER_COOKIE, f"{secret}.{began}.{other}")
        else:
            await come_back(browser, given | {"error": "access_denied"})
        await require_refused(stage, browser, await come_back(browser, given))


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nSet-Cookie: x=1", "/ä"]
)
async def test_the_way_back_leads_to_no_other_site(
    stage: ConsoleStage, liar: LyingProvider, target: str
) -> None:
    async with browser_of(stage) as browser:
        came = await come_back(browser, await begin(browser, liar, target))
        assert came.headers["location"] == "/"


async def test_a_planted_way_onward_leads_to_no_other_site(stage: ConsoleStage, liar: LyingProvider) -> None:
    async with browser_of(stage) as browser:
        await begin(browser, liar)
        secret, began, _ = browser.cookies[PROVIDER_COOKIE].split(".")
        evil = base64.urlsafe_b64encode(b"//evil.example").rstrip(b"=").decode()
        browser.cookies.clear()
        browser.cookies.set(PROVIDER_COOKIE, f"{secret}.{began}.{evil}")
        for state in ("x", ""):
            answer = await come_back(browser, {"code": "c", "state": state, "iss": liar.issuer})
            assert "evil.example" not in answer.text + str(answer.headers)


async def test_a_session_planted_before_opens_nothing_after(stage: ConsoleStage, liar: LyingProvider) -> None:
    async with browser_of(stage) as victim, browser_of(stage) as attacker:
        victim.cookies.set(SESSION_COOKIE, "planted", domain="console.test")
        await come_back(victim, await begin(victim, liar))
        attacker.cookies.set(SESSION_COOKIE, "planted")
        assert (await attacker.get("/account")).status_code == 303


DOCUMENTS: dict[str, Lie] = {
    "it is another's": lambda liar: liar.discovery.update(issuer="https://evil.example"),
    "tokens come by plain http": lambda liar: liar.discovery.update(token_endpoint="http://login.example/t"),
    "keys come by plain http": lambda liar: liar.discovery.update(jwks_uri="http://login.example/k"),
    "a place is none": lambda liar: liar.discovery.update(authorization_endpoint="javascript:alert(1)"),
    "it has no place for tokens": lambda liar: liar.discovery.update(token_endpoint=None),
    "it takes no challenge by hash": lambda liar: liar.discovery.update(
        code_challenge_methods_supported=["plain"]
    ),
    "it is no JSON": signs(body=b"<html>"),
    "it is a list": signs(body=b"[]"),
    "it is nested without end": signs(body=b"[" * 200_000),
    "it is too large": signs(body=b" " * (BYTES + 1) + b"{}"),
    "it is refused": signs(status=404),
    "it is broken": signs(status=500),
    "it leads elsewhere": signs(status=302),
}


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_a_provider_whose_document_does_not_fit_is_away(
    stage: ConsoleStage, liar: LyingProvider, name: str
) -> None:
    DOCUMENTS[name](liar)
    async with browser_of(stage) as browser:
        answer = await browser.get("/login/provider")
        assert answer.status_code == 503
        assert "não responde agora" in answer.text
        assert 'name="password"' in answer.text


async def test_a_provider_that_is_away_is_not_asked_by_everybody(
    stage: ConsoleStage, liar: LyingProvider
) -> None:
    liar.status = 500
    async with browser_of(stage) as browser:
        assert [(await browser.get("/login/provider")).status_code for _ in range(5)] == [503] * 5
    assert liar.asked == ["places"]


async def test_a_provider_that_goes_away_between_is_told_as_that(
    stage: ConsoleStage, liar: LyingProvider
) -> None:
    async with browser_of(stage) as browser:
        given = await begin(browser, liar)
        liar.status = 503
        answer = await come_back(browser, given)
        assert answer.status_code == 503
        await require_refused(stage, browser, answer)
    assert await why_refused(stage) == []


async def test_nobody_listens_there(store: Store) -> None:
    stage = stage_with(store, "http://127.0.0.1:1")
    async with browser_of(stage) as browser:
        assert (await browser.get("/login/provider")).status_code == 503
        assert (await browser.get("/login")).status_code == 200


async def test_new_keys_of_the_provider_are_read_once_they_are_needed(
    stage: ConsoleStage, liar: LyingProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateways.oidc.provider.AGAIN_SECONDS", 0.0)
    fresh = RSAKey.generate_key(2048, {"kid": "fresh"})
    async with browser_of(stage) as browser:
        await come_back(browser, await begin(browser, liar))
    liar.key, liar.header, liar.keys = fresh, {"alg": "RS256", "kid": "fresh"}, [fresh]
    async with browser_of(stage) as browser:
        assert (await come_back(browser, await begin(browser, liar))).status_code == 303
    assert liar.asked.count("keys") == 2


async def test_tokens_with_invented_key_names_do_not_have_the_keys_read_again_and_again(
    stage: ConsoleStage, liar: LyingProvider
) -> None:
    liar.header = {"alg": "RS256", "kid": "invented"}
    for _ in range(4):
        async with browser_of(stage) as browser:
            await come_back(browser, await begin(browser, liar))
    assert liar.asked.count("keys") == 1


async def test_a_key_for_encryption_signs_nothing(stage: ConsoleStage, liar: LyingProvider) -> None:
    other = RSAKey.generate_key(2048, {"kid": "enc", "use": "enc"})
    liar.keys, liar.key, liar.header = [other], other, {"alg": "RS256", "kid": "enc"}
    with pytest.raises(Exception, match="use"):
        liar.minted()
    liar.key = RSAKey.import_key(other.as_pem(private=True), {"kid": "enc"})
    async with browser_of(stage) as browser:
        await require_refused(stage, browser, await come_back(browser, await begin(browser, liar)))
    assert await why_refused(stage) == [Doubt.KEY]


async def test_guessing_codes_is_limited_by_place(stage: ConsoleStage, liar: LyingProvider) -> None:
    tight = stage_with(stage.store, liar.issuer, login_failures=1)
    answers = []
    for _ in range(12):
        async with browser_of(tight) as browser:
            given = await begin(browser, liar)
            liar.status = 400
            answers.append((await come_back(browser, given)).status_code)
            liar.status = 200
    assert answers == [401] * 10 + [429] * 2
    assert liar.asked.count("token") == 10


async def test_no_token_code_or_secret_is_logged_or_kept(
    stage: ConsoleStage,
    liar: LyingProvider,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen = []
    for lie in (says(), says(nonce="x"), signs(status=503), signs(status=400)):
        async with browser_of(stage) as browser:
            given = await begin(browser, liar)
            lie(liar)
            seen += [(await come_back(browser, given)).text, str(browser.cookies)]
            liar.claims, liar.status = {}, 200
            secrets = [liar.minted(), ACCESS_TOKEN, CLIENT_SECRET, liar.forms[-1]["code_verifier"]]
            events = await stage.store.look(lambda tx: tx.audit.of_claim(PEOPLE_CHAIN))
            told = capsys.readouterr().out + caplog.text + "".join(seen) + "".join(e.data for e in events)
            assert [secret for secret in [*secrets, given["state"], "a-code"] if secret in told] == []


async def test_the_secret_is_in_no_representation(stage: ConsoleStage) -> None:
    assert CLIENT_SECRET not in repr(stage.console)
