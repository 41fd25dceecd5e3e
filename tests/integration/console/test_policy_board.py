"""The policy in the console: shown, compared, tried on stored claims, adopted and undone."""

import re
from html import unescape

import httpx
import pytest

from domain.access import Role
from domain.operators import Attribution
from tests.integration.console.boards import HOSTILE, WHO, orders, send, shown
from tests.support.builders import NOW
from tests.support.console_scene import ConsoleScene
from tests.support.console_stage import ConsoleStage, csrf_in
from tests.support.waiting import eventually
from workers.policy.file import default_text
from workers.policy.writing import changed

on_sqlite = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
FORM = {
    "max_retries": "4",
    "base_minutes": "7,5",
    "min_minutes": "5",
    "max_minutes": "240",
    "factor": "2",
    "reserve_minutes": "240",
    "version": "2",
}
MANAGER = (Role.BILLING_MANAGEMENT,)


async def speak_english(browser: httpx.AsyncClient) -> None:
    assert (await send(browser, "/account/language", language="en")).status_code == 303


async def adopted(stage: ConsoleStage, document: str, reason: str = "less load") -> None:
    desk = stage.console.policies.desk
    await desk.adopt(document, Attribution("rui", reason), seen=(await desk.in_force()).mark)


async def tried(browser: httpx.AsyncClient, stage: ConsoleStage, answer: httpx.Response) -> str:
    """The address of a trial's page, once it is over."""
    assert answer.status_code == 303, unescape(answer.text)
    address = answer.headers["location"]

    async def over() -> bool:
        run = stage.console.policies.runs.find(int(address.rpartition("/")[2]))
        return run is not None and run.is_over

    await eventually(over)
    assert (await browser.get(f"{address}/live")).headers["hx-refresh"] == "true"
    return str(address)


@on_sqlite
async def test_the_policy_is_told_in_words_in_both_languages(stage: ConsoleStage) -> None:
    async with stage.logged_in(Role.VIEWER) as browser:
        page = await shown(browser, "/policy")
        assert "No máximo 5 reenvios por cobrança" in page
        assert "É a que acompanha o sistema" in page
        assert 'aria-label="Janelas de espera antes de cada um dos 5 reenvios: 5 a 6 min' in page
        assert "Carteira ou dados do beneficiário recusados → Cadastro" in page
        assert "Nenhuma política foi adotada ainda" in page
        assert "E se fosse outra?" not in page  # not a viewer's
        await speak_english(browser)
        english = await shown(browser, "/policy")
    assert "At most 5 retries for a claim" in english
    assert "Nobody has adopted" in english or "nobody has adopted another" in english


@on_sqlite
async def test_the_file_can_be_downloaded_and_two_versions_compared(stage: ConsoleStage) -> None:
    other = changed(default_text(), {"version": "2", "limits.max_retries": 4})
    await adopted(stage, other)
    async with stage.logged_in(Role.VIEWER) as browser:
        in_force = await browser.get("/policy.toml")
        own = await browser.get("/policy.toml?version=0")
        page = await shown(browser, "/policy/compare?before=0&after=1")
        for wrong in ("/policy.toml?version=7", "/policy.toml?version=x", "/policy/compare?before=-1"):
            assert (await browser.get(wrong)).status_code == 404
    assert (in_force.text, own.text) == (other, default_text())
    assert in_force.headers["content-disposition"] == 'attachment; filename="policy-2.toml"'
    for told in ("Máximo de reenvios", "Espera antes do 5º reenvio", "64 a 96 min", "não há"):
        assert told in page
    assert not re.search(r"\b(to|wait before|limits)\b", re.sub(r"<[^>]+>", " ", page))


async def test_other_numbers_are_tried_adopted_and_undone(stage: ConsoleStage) -> None:
    await ConsoleScene(stage.store, NOW).everything()
    async with stage.logged_in(*MANAGER) as browser:
        address = await tried(browser, stage, await send(browser, "/policy/what-if", **FORM))
        page = await shown(browser, address)
        assert re.search(r"Simulado com a política em vigor: \d+ de \d+ iguais\.", page)
        assert "O que a comparação não pode saber:" in page
        assert "Recuperadas por reenvio" in page
        assert "7,5 min" in page
        assert (await send(browser, f"{address}/adopt", reason=" ")).headers["location"].endswith("no_reason")
        done = await send(browser, f"{address}/adopt", reason="fewer sends")
        assert done.headers["location"] == "/policy?said=adopted"
        after = await shown(browser, "/policy?said=adopted")
        assert "No máximo 4 reenvios por cobrança" in after
        assert f"Adotada por {WHO}: “fewer sends”" in after
        mark = (await stage.console.policies.desk.in_force()).mark
        undone = await send(browser, "/policy/undo", reason="too few", mark=mark)
        assert undone.headers["location"] == "/policy?said=undone"
        assert "No máximo 5 reenvios por cobrança" in await shown(browser, "/policy")
    label = (await stage.console.policies.desk.history())[-1].policy
    assert await orders(stage.store) == [
        (f"policy adopt {label}", WHO, "fewer sends"),
        ("policy undo", WHO, "too few"),
    ]


@on_sqlite
async def test_a_trial_speaks_english_to_who_does(stage: ConsoleStage) -> None:
    await ConsoleScene(stage.store, NOW).everything()
    async with stage.logged_in(*MANAGER) as browser:
        await speak_english(browser)
        given = FORM | {"base_minutes": "7.5", "per_minute": "10", "first_wait": "3"}
        page = await shown(
            browser, await tried(browser, stage, await send(browser, "/policy/what-if", **given))
        )
    assert re.search(r"Played by the policy in force: \d+ of \d+ the same\.", page)
    assert "The trial changed pace or protection of the payers too." in page


@on_sqlite
async def test_who_may_only_try_is_offered_no_adoption(stage: ConsoleStage) -> None:
    async with stage.logged_in(Role.QUALITY) as browser:
        address = await tried(browser, stage, await send(browser, "/policy/what-if", **FORM))
        assert "Quem adota é a gestão de faturamento." in await shown(browser, address)
        assert (await send(browser, f"{address}/adopt", reason="x")).status_code == 403
        assert (await send(browser, "/policy/undo", reason="x")).status_code == 403
        assert "Desfazer" not in await shown(browser, "/policy")
    assert await stage.console.policies.desk.history() == []


@on_sqlite
async def test_what_came_into_force_since_the_trial_is_not_overwritten(stage: ConsoleStage) -> None:
    async with stage.logged_in(*MANAGER) as browser:
        address = await tried(browser, stage, await send(browser, "/policy/what-if", **FORM))
        await adopted(stage, changed(default_text(), {"version": "3"}))
        late = await send(browser, f"{address}/adopt", reason="x")
        assert late.headers["location"] == "/policy?said=changed"
        stale = await send(browser, "/policy/undo", reason="x", mark="0:1+00000000")
        assert stale.headers["location"] == "/policy?said=changed"
        gone = await send(browser, "/policy/what-if/99/adopt", reason="x")
        assert gone.headers["location"] == "/policy?said=gone"
    assert (await stage.console.policies.desk.in_force()).policy.version == "3"


@on_sqlite
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"max_retries": "many"}, "O campo “Máximo de reenvios” não pode ser lido"),
        ({"max_retries": "2,5"}, "O campo “Máximo de reenvios” não pode ser lido"),
        ({"per_minute": "-1"}, "O campo “Envios por minuto” não pode ser lido"),
        ({"max_retries": "9"}, "O máximo de reenvios vai de 1 a 5 (BIL-004-V1, BIL-005-V1)."),
        ({"base_minutes": "2", "min_minutes": "2"}, "As esperas vão de 5 a 240 min (BIL-004-V3)."),
        ({"min_minutes": "200", "base_minutes": "210"}, "A menor espera é no máximo 80 % da maior"),
        ({"min_minutes": "100"}, "As esperas precisam crescer: menor, base, maior."),
        ({"factor": "11"}, "O fator de crescimento vai de 1 a 10."),
        ({"version": HOSTILE}, "O nome da versão tem de 1 a 40 letras"),
    ],
)
async def test_numbers_that_do_not_fit_are_refused_with_why(
    stage: ConsoleStage, given: dict[str, str], told: str
) -> None:
    async with stage.logged_in(*MANAGER) as browser:
        answer = await send(browser, "/policy/what-if", **(FORM | given))
    assert answer.status_code == 422
    assert told in unescape(answer.text)
    assert "<script>alert" not in answer.text
    assert 'lang="en"' not in answer.text


@on_sqlite
@pytest.mark.parametrize("run", ["x", "9" * 5_000, "-1", "²"])
async def test_a_trial_that_never_was_is_told_so(stage: ConsoleStage, run: str) -> None:
    async with stage.logged_in(*MANAGER) as browser:
        answer = await browser.get(f"/policy/what-if/{run}")
    assert answer.status_code == 404
    assert "faça-o de novo" in unescape(answer.text)


async def upload(browser: httpx.AsyncClient, data: bytes) -> httpx.Response:
    token = csrf_in(await browser.get("/account"))
    return await browser.post(
        "/policy/what-if/file", data={"csrf": token}, files={"file": ("policy.toml", data)}
    )


@on_sqlite
@pytest.mark.parametrize(
    "data", [b"", b"version = ", b"\xff\xfe", b"a = " + b"[" * 20_000, default_text().encode() * 8]
)
async def test_a_file_that_is_no_policy_is_refused(stage: ConsoleStage, data: bytes) -> None:
    async with stage.logged_in(*MANAGER) as browser:
        assert (await upload(browser, data)).status_code in (413, 422)


@on_sqlite
async def test_a_file_with_other_lists_is_tried_and_adopted_as_it_is_written(stage: ConsoleStage) -> None:
    text = default_text().replace('version = "1"', 'version = "lists-2"')
    text += '[payers.operadora-norte]\nalso_transient = ["TISS:5014"]\n'
    async with stage.logged_in(*MANAGER) as browser:
        address = await tried(browser, stage, await upload(browser, text.encode()))
        assert "Operadora operadora-norte: Lista: TISS:5014" in await shown(browser, address)
        await send(browser, f"{address}/adopt", reason="they mean it passes")
        assert (await browser.get("/policy.toml")).text == text


@on_sqlite
async def test_a_version_that_is_taken_is_said_before_anybody_writes_a_reason(stage: ConsoleStage) -> None:
    async with stage.logged_in(*MANAGER) as browser:
        given = FORM | {"version": "1"}
        page = await shown(
            browser, await tried(browser, stage, await send(browser, "/policy/what-if", **given))
        )
    assert "Esta versão já é o nome de outra política" in page
    assert "/adopt" not in page


@on_sqlite
async def test_what_people_wrote_is_text_and_nothing_else(stage: ConsoleStage) -> None:
    await adopted(stage, changed(default_text(), {"version": "2"}), reason=HOSTILE)
    async with stage.logged_in(*MANAGER) as browser:
        page = (await browser.get("/policy")).text
    assert "<script>alert" not in page
    assert "<img" not in page


@on_sqlite
async def test_a_damaged_adoption_is_said_and_can_be_undone(stage: ConsoleStage) -> None:
    await adopted(stage, changed(default_text(), {"version": "2"}))
    async with stage.store.transaction() as tx:
        connection = tx._connection
        for statement in (
            "INSERT INTO audit_permits VALUES ('adopted_policies:UPDATE')",
            "UPDATE adopted_policies SET document = 'damaged'",
            "DELETE FROM audit_permits",
        ):
            await connection.exec_driver_sql(statement)
    async with stage.logged_in(*MANAGER) as browser:
        assert "A política adotada nº 1 não pode ser usada" in await shown(browser, "/policy")
        mark = (await stage.console.policies.desk.in_force()).mark
        done = await send(browser, "/policy/undo", reason="damaged", mark=mark)
        assert done.headers["location"] == "/policy?said=undone"
        assert "não pode ser usada" not in await shown(browser, "/policy")
