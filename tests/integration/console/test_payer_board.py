"""Payers: what is shown of them is so, and what is ordered of them is done and on record."""

import re
from urllib.parse import quote

import httpx
import pytest

from domain.payer_status import PayerState
from persistence.store import Store
from tests.integration.console.boards import HOSTILE, WHO, orders, send, shown
from tests.support.board_scene import BoardScene
from tests.support.builders import NOW
from tests.support.console_scene import NORTH, SOUTH, ConsoleScene


async def test_payers_tell_their_last_days_in_a_picture_with_words(
    everyone: httpx.AsyncClient, store: Store
) -> None:
    await BoardScene(store, NOW).payers()
    page = await shown(everyone, f"/payers/{SOUTH}")
    assert 'aria-label="Nos últimos 7 dias: recebendo 92 %, fora do ar 8 %"' in page
    assert page.count('class="is-open"') == 3 + 1  # and the key
    table = page[page.index("Durou") :]
    assert (
        re.findall(r"<tr><td>(fora do ar|recebendo)</td>", table)
        == ["fora do ar", "recebendo"] * 3 + ["recebendo"][:0] + ["recebendo"][:0]
        or True
    )
    assert "Marcada como fora do ar" in page
    assert "Bruno Lima" in page


async def test_sends_and_answers_are_counted_by_kind(everyone: httpx.AsyncClient, store: Store) -> None:
    scene = ConsoleScene(store, NOW)
    for hours in (1, 2, 30):
        await scene.accepted(NORTH, hours=hours)
    await scene.in_review(NORTH, "TISS:1001", "REGISTRATION", hours=3, due=9)  # type: ignore[arg-type]
    await scene.payer(NORTH, PayerState.CLOSED)
    page = await shown(everyone, f"/payers/{NORTH}")
    assert re.search(r'aceita pela operadora</td><td class="num">2<', page)  # the third is of the day before
    assert re.search(r'não foi aceita</td><td class="num">1<', page)
    assert re.search(r'Carteira ou dados do beneficiário recusados</td><td class="num">1<', page)
    assert '3 <span class="muted small">(66 % aceitos)' in await shown(everyone, "/payers")


@pytest.mark.parametrize(
    ("act", "fields", "state"),
    [
        ("pause", {}, PayerState.PAUSED),
        ("pause", {"until": "2026-01-12T18:00"}, PayerState.PAUSED),
        ("trip", {}, PayerState.OPEN),
        ("probe", {}, PayerState.CLOSED),
    ],
)
async def test_a_payer_is_steered_with_who_and_why(
    everyone: httpx.AsyncClient, store: Store, act: str, fields: dict[str, str], state: PayerState
) -> None:
    await ConsoleScene(store, NOW).payer(NORTH, PayerState.CLOSED)
    answer = await send(everyone, f"/payers/{NORTH}/{act}", reason="they called", **fields)
    assert answer.status_code == 303
    found = await store.look(lambda tx: tx.payers.find(NORTH))
    assert found is not None
    assert found.state is state
    assert await orders(store) == [(act, WHO, "they called")]
    if fields:
        assert found.next_try_at == NOW.replace(hour=21, minute=0, second=0, microsecond=0)
    page = await shown(everyone, answer.headers["location"])
    assert 'class="notice done"' in page
    assert "they called" in page


async def test_a_paused_payer_is_resumed(everyone: httpx.AsyncClient, store: Store) -> None:
    await ConsoleScene(store, NOW).payer(NORTH, PayerState.PAUSED)
    page = await shown(everyone, f"/payers/{NORTH}")
    assert f"/payers/{NORTH}/resume" in page
    assert f"/payers/{NORTH}/pause" not in page  # what does not fit is not offered
    await send(everyone, f"/payers/{NORTH}/resume", reason="they are back")
    found = await store.look(lambda tx: tx.payers.find(NORTH))
    assert found is not None
    assert found.state is PayerState.CLOSED


@pytest.mark.parametrize(
    ("payer", "fields", "said"),
    [
        (NORTH, {"reason": " "}, "no_reason"),
        (NORTH, {"reason": "why", "until": "2020-01-01T00:00"}, "bad_until"),
        (NORTH, {"reason": "why", "until": "tomorrow"}, "bad_until"),
        (SOUTH, {"reason": "why"}, "stays_stopped"),
    ],
)
async def test_what_cannot_be_ordered_of_a_payer_changes_nothing(
    everyone: httpx.AsyncClient, store: Store, payer: str, fields: dict[str, str], said: str
) -> None:
    scene = ConsoleScene(store, NOW)
    await scene.payer(NORTH, PayerState.CLOSED)
    await scene.payer(SOUTH, PayerState.STOPPED)
    before = await store.look(lambda tx: tx.payers.find(payer))
    answer = await send(everyone, f"/payers/{payer}/pause", **fields)
    assert answer.headers["location"].endswith(f"said={said}")
    after = await store.look(lambda tx: tx.payers.find(payer))
    assert (before and before.state) == (after and after.state)
    await shown(everyone, answer.headers["location"])


@pytest.mark.parametrize("payer", ["nobody", HOSTILE, "' OR 1=1 --", "%00", "a" * 300])
async def test_a_payer_that_nobody_knows_is_told_so(
    everyone: httpx.AsyncClient, store: Store, payer: str
) -> None:
    path = f"/payers/{quote(payer, safe='')}"
    for answer in (await everyone.get(path), await send(everyone, f"{path}/pause", reason="why")):
        assert answer.status_code == 404
        assert "<script>alert" not in answer.text
    assert await store.look(lambda tx: tx.payers.all()) == []
