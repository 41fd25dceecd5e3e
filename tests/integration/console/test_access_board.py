"""Access and audit in the console: people let in, changed and kept out on record; trails read and judged."""

import re

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.access import Role
from persistence.store import Store
from tests.integration.console.boards import WHO, orders, send, shown
from tests.support.board_scene import BoardScene
from tests.support.builders import NOW
from tests.support.console_scene import NORTH, ConsoleScene
from tests.support.console_stage import BASE, PASSWORD, ConsoleStage, csrf_in, log_in

NEW = {"login": "Bia.Lima", "name": "Bia Lima", "role_billing": "1", "role_quality": "1", "language": "pt"}
LINK = re.compile(rf'value="{re.escape(BASE)}(/login/link\?token=[^"]+)"')


async def test_somebody_is_let_in_by_a_link_that_opens_once(
    stage: ConsoleStage, everyone: httpx.AsyncClient, store: Store
) -> None:
    page = await send(everyone, "/people", **NEW)
    link = LINK.search(page.text)
    assert link
    async with stage.browser() as bia:
        asked = await bia.get(link[1])
        token = link[1].partition("token=")[2]
        came = await bia.post("/login/link", data={"csrf": csrf_in(asked), "token": token})
        assert came.headers["location"] == "/"
        assert "Bia Lima" in await shown(bia, "/account")
        assert (await bia.get("/people")).status_code == 403
    assert await orders(store) == [
        ("person add", WHO, "bia.lima: billing, quality"),
        ("person link", WHO, "bia.lima"),
    ]
    assert not LINK.search((await everyone.get("/people/bia.lima")).text)


async def test_somebody_is_let_in_with_a_first_password(
    stage: ConsoleStage, everyone: httpx.AsyncClient
) -> None:
    answer = await send(everyone, "/people", **NEW, password=PASSWORD)
    assert answer.headers["location"] == "/people/bia.lima?said=added"
    async with stage.browser() as bia:
        assert (await log_in(bia, "bia.lima")).status_code == 303


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"login": "a b"}, "O usuário tem de 2 a 64"),
        ({"login": "ana"}, "Este usuário já existe"),
        ({"name": " "}, "Diga o nome"),
        ({"role_auditor": "1"}, "Quem audita não tem outro perfil"),
        ({"role_billing": "", "role_quality": ""}, "Escolha ao menos um perfil"),
        ({"password": "short"}, "A senha tem 12 caracteres"),
        ({"password": "bia.lima bia.lima"}, "A senha tem 12 caracteres"),
    ],
)
async def test_who_cannot_be_let_in_is_told_why_and_nothing_is_done(
    everyone: httpx.AsyncClient, store: Store, changes: dict[str, str], said: str
) -> None:
    answer = await send(everyone, "/people", **(NEW | changes))
    assert answer.status_code == 400
    assert said in answer.text
    assert "short" not in answer.text  # no password comes back
    assert await store.look(lambda tx: tx.people.find("bia.lima")) is None
    assert await orders(store) == []


async def test_other_roles_hold_from_the_next_login_on(
    stage: ConsoleStage, everyone: httpx.AsyncClient
) -> None:
    async with stage.logged_in(Role.VIEWER, login="bia") as bia:
        assert (await bia.get("/reports")).status_code == 403
        answer = await send(everyone, "/people/bia/roles", role_quality="1")
        assert answer.headers["location"] == "/people/bia?said=roles"
        assert (await bia.get("/reports")).status_code == 303
        assert (await log_in(bia, "bia")).status_code == 303
        assert (await bia.get("/reports")).status_code == 200
        refused = await send(everyone, "/people/bia/roles", role_quality="1", role_auditor="1")
        assert refused.headers["location"] == "/people/bia?said=bad_roles"


async def test_somebody_is_kept_out_and_let_in_again(
    stage: ConsoleStage, everyone: httpx.AsyncClient, store: Store
) -> None:
    async with stage.logged_in(Role.VIEWER, login="bia") as bia:
        await send(everyone, "/people/bia/disable")
        assert (await bia.get("/account")).status_code == 303
        assert (await log_in(bia, "bia")).status_code == 401
        await send(everyone, "/people/bia/enable")
        assert (await log_in(bia, "bia")).status_code == 303
        await send(everyone, "/people/bia/password", password="another long password")
        assert (await bia.get("/account")).status_code == 303
        assert (await log_in(bia, "bia", "another long password")).status_code == 303
    assert [what for what, _, _ in await orders(store)] == [
        "person disable",
        "person enable",
        "person password",
    ]


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_people_choose_their_own_password_by_the_old_one(stage: ConsoleStage, store: Store) -> None:
    chosen = "quite another secret"
    async with stage.logged_in(Role.VIEWER) as browser:
        for fields, said in (
            ({"old": "wrong", "password": chosen}, "A senha de hoje não confere"),
            ({"old": PASSWORD, "password": "short"}, "A senha tem 12 caracteres"),
        ):
            answer = await send(browser, "/account/password", **fields)
            assert (answer.status_code, said in answer.text) == (400, True)
        answer = await send(browser, "/account/password", old=PASSWORD, password=chosen)
        assert answer.headers["location"] == "/login?changed=1&lang=pt"
        assert "A senha foi trocada." in await shown(browser, "/login?changed=1&lang=pt")
        assert (await log_in(browser, "ana", PASSWORD)).status_code == 401
        assert (await log_in(browser, "ana", chosen)).status_code == 303
    assert await orders(store) == [("person password", WHO, "ana")]


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_guesses_of_the_old_password_are_counted_as_at_the_door(stage: ConsoleStage) -> None:
    async with stage.logged_in(Role.VIEWER) as browser:
        for _ in range(6):
            await send(browser, "/account/password", old="wrong", password="quite another secret")
        answer = await send(browser, "/account/password", old=PASSWORD, password="quite another secret")
        assert answer.status_code == 400


@pytest.mark.parametrize("act", ["roles", "disable", "enable", "password", "link"])
async def test_nobody_changes_their_own_access(everyone: httpx.AsyncClient, store: Store, act: str) -> None:
    answer = await send(everyone, f"/people/ana/{act}", role_viewer="1", password="another long password")
    assert answer.headers["location"] == "/people/ana"
    assert await orders(store) == []
    assert (await send(everyone, f"/people/nobody/{act}", role_viewer="1")).status_code == 404


async def test_an_auditor_begins_with_the_trail_and_sees_no_work(auditor: httpx.AsyncClient) -> None:
    assert (await auditor.get("/")).headers["location"] == "/audit"
    assert (await auditor.get("/claims")).status_code == 403


async def test_a_trail_is_read_with_who_and_why_and_judged(auditor: httpx.AsyncClient, store: Store) -> None:
    await BoardScene(store, NOW).payers()
    claim = await ConsoleScene(store, NOW).waiting(NORTH, minutes=30, count=1)
    page = await shown(auditor, f"/audit/trail?payer={NORTH}")
    for said in (
        "Íntegra: nenhum registro foi alterado",
        "Pedido de uma pessoa: Pausa",
        "Bruno Lima (bruno, console): “manutenção avisada por telefone”",
        "Operadora mudou de situação: recebendo → em pausa",
    ):
        assert said in page
    for asked in (claim, claim.rsplit("-", 1)[1]):  # by its id, or by its batch
        trail = await shown(auditor, f"/audit/trail?claim={asked}")
        assert "Decisão tomada" in trail
    assert "Nada está registrado com este nome" in await shown(auditor, "/audit/trail?claim=CLM-9-9")
    assert "Pausa" in await shown(auditor, "/audit")
    assert "Acesso dado" in await shown(auditor, "/audit/trail")


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_a_record_that_was_changed_is_told_so(
    auditor: httpx.AsyncClient, store: Store, database: AsyncEngine
) -> None:
    claim = await ConsoleScene(store, NOW).waiting(NORTH, minutes=30, count=1)
    async with database.begin() as connection:
        names = await connection.execute(
            text("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_events'")
        )
        for name in names.scalars().all():
            await connection.execute(text(f'DROP TRIGGER "{name}"'))
        changed = "UPDATE audit_events SET data = '{}' WHERE sequence = 2"
        await connection.execute(text(changed))
    page = await shown(auditor, f"/audit/trail?claim={claim}")
    assert "Alterada: um registro não é o que era" in page
    assert page.count("<span>alterado</span>") == 1
