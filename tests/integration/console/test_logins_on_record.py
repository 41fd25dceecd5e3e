"""Logins in the sealed trail: who came in and went out, and who was refused, counted."""

from typing import Any

import pytest

from domain.access import Role
from persistence.audit.claim_seal import SealState
from persistence.audit.event_data import event_data
from persistence.repositories.logins import PEOPLE_CHAIN
from persistence.store import Store
from tests.support.console_stage import ConsoleStage, csrf_in, log_in


async def told(store: Store) -> list[dict[str, Any]]:
    trail = await store.look(lambda tx: tx.audit.trail_of(PEOPLE_CHAIN, 100))
    assert trail.state in (SealState.WHOLE, SealState.EMPTY)
    return [event_data(one.event) for one in trail.events]


async def test_who_comes_in_and_goes_out_is_sealed(stage: ConsoleStage) -> None:
    async with stage.logged_in(Role.VIEWER) as browser:
        await browser.post("/logout", data={"csrf": csrf_in(await browser.get("/account"))})
    who = "Ana Souza (ana, console)"
    assert await told(stage.store) == [
        {"event": "logged_in", "by": who, "way": "password"},
        {"event": "logged_out", "by": who, "how": "logout"},
    ]


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_a_session_that_nobody_used_for_too_long_ends_on_record(stage: ConsoleStage) -> None:
    async with stage.logged_in(Role.VIEWER) as browser:
        stage.clock.wait(minutes=61)
        for _ in range(2):
            await browser.get("/account")
    assert [one.get("how") for one in await told(stage.store)] == [None, "idle"]


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_a_link_is_told_apart_from_a_password_and_a_spent_one_is_refused(stage: ConsoleStage) -> None:
    person = await stage.person("ana", [Role.VIEWER])
    token = await stage.console.entrance.offer_link(person)
    for _ in range(2):
        await stage.console.entrance.by_link(token)
    came, refused = await told(stage.store)
    assert came["way"] == "link"
    assert refused == {"event": "login_refused", "login": None, "why": "link", "times": 1}


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_guesses_are_counted_and_cannot_fill_the_trail(stage: ConsoleStage) -> None:
    await stage.person("ana", [Role.VIEWER])
    for place in range(12):
        async with stage.browser(address=f"10.0.1.{place}") as browser:
            for login in ("ana", "nobody", "a password typed by mistake"):
                for _ in range(5):
                    await log_in(browser, login, "wrong")
    events = await told(stage.store)
    of_ana, of_nobody = ([one for one in events if one["login"] == login] for login in ("ana", None))
    assert [(one["times"], one["why"]) for one in of_ana] == [
        (1, "password"),
        (5, "password"),
        (50, "password"),
    ]
    assert [one["times"] for one in of_nobody] == [1, 5, 50]
    assert "mistake" not in str(events)


async def test_the_login_that_follows_tells_how_many_were_refused(stage: ConsoleStage) -> None:
    await stage.person("ana", [Role.VIEWER])
    async with stage.browser() as browser:
        for _ in range(3):
            await log_in(browser, "ana", "wrong")
        for _ in range(2):
            await log_in(browser, "ana")
            browser.cookies.clear()
    assert [one.get("refused_before") for one in await told(stage.store)] == [None, 3, None]


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_asking_for_the_old_password_is_no_login(stage: ConsoleStage) -> None:
    async with stage.logged_in(Role.VIEWER) as browser:
        for old in ("wrong", "correct horse battery"):
            form = {"csrf": csrf_in(await browser.get("/account")), "old": old}
            await browser.post("/account/password", data=form | {"password": "another good password"})
    assert [one["event"] for one in await told(stage.store)] == ["logged_in", "login_refused"]


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_who_audits_reads_it(stage: ConsoleStage) -> None:
    async with stage.logged_in(Role.AUDITOR) as browser:
        assert "/audit/trail?of=people" in (await browser.get("/audit")).text
        page = await browser.get("/audit/trail?of=people")
    assert "Trilha de entradas e saídas" in page.text
    assert "Entrou" in page.text
    assert "Ana Souza (ana, console)" in page.text
