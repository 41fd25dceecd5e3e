"""Notices sent again from the console: previewed, counted anew, carried out beside the pages, on record."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta

import httpx
import pytest

from domain.access import Role
from domain.mail.mail import MailState
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext
from persistence.store import Store, Transaction
from tests.integration.console.boards import WHO, orders, shown
from tests.support.builders import NOW
from tests.support.console_stage import ConsoleStage, console_stage
from tests.support.faults.messages import MessageBroker, message_broker
from tests.support.mails import keep_dead
from tests.support.waiting import eventually

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)


@dataclass(frozen=True, slots=True)
class Post:
    """A browser of who may send letters again, the engine that is asked, and who plays the worker."""

    browser: httpx.AsyncClient
    stage: ConsoleStage
    broker: MessageBroker

    @property
    def store(self) -> Store:
        return self.stage.store

    async def ask(self, **changes: str) -> httpx.Response:
        page = await shown(self.browser, "/letters/redrive")
        form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
        return await self.browser.post("/letters/redrive", data=form | {"reason": "mended"} | changes)

    async def arrive(self, letters: list[str], state: MailState = MailState.SENT) -> None:
        """Play the worker: whatever is asked for is sent, or fails again."""

        async def are_asked_for() -> bool:
            found = await self.store.look(lambda tx: tx.mails.find_all(letters))
            return all(mail.state is MailState.PENDING for mail in found.values())

        async def end(tx: Transaction) -> None:
            for mail in (await tx.mails.find_all(letters)).values():
                await tx.mails.save(replace(mail, state=state, sent_at=NOW))

        await eventually(are_asked_for)
        await self.store.run(end)

    async def over(self) -> None:
        async def is_over() -> bool:
            run = self.stage.console.redrives.newest
            return run is not None and run.is_over

        await eventually(is_over)


@pytest.fixture
async def post(store: Store) -> AsyncIterator[Post]:
    async with message_broker() as broker, open_channel(Plaintext(broker.address)) as channel:
        stage = console_stage(store, ZeebeCommands(channel))
        async with stage.logged_in(Role.OPERATIONS) as browser:
            yield Post(browser, stage, broker)
            await stage.console.redrives.close()


async def test_letters_are_sent_again_and_the_page_tells_how_it_goes(post: Post) -> None:
    letters = await keep_dead(post.store, range(3), at=NOW - timedelta(hours=1))
    assert "3 avisos serão enviados de novo" in await shown(post.browser, "/letters/redrive")
    answer = await post.ask()
    assert answer.headers["location"] == "/letters?said=redriving"
    assert "Enviando de novo" in await shown(post.browser, "/letters/progress")
    await post.arrive(letters)
    await post.over()
    part = await shown(post.browser, "/letters/progress")
    assert "Terminou" in part
    assert "3 de 3 chegaram" in part
    assert "hx-get" not in part  # nothing more to ask for
    assert await orders(post.store) == [("dlq redrive of 3", WHO, "mended")]
    assert len(post.broker.taken) == 3


async def test_letters_that_fail_again_end_the_run(post: Post) -> None:
    letters = await keep_dead(post.store, range(2), at=NOW - timedelta(hours=1))
    await post.ask()
    await post.arrive(letters, MailState.FAILED)
    await post.over()
    assert "Parou: 2 de 2 falharam de novo." in await shown(post.browser, "/letters")


async def test_another_number_than_was_shown_sends_nothing(post: Post) -> None:
    await keep_dead(post.store, range(3), at=NOW - timedelta(hours=1))
    for changes, said in (
        ({"number": "2"}, "O número mudou desde que você olhou"),
        ({"reason": " "}, "Diga por quê"),
        ({"moment": "nonsense"}, "Diga por quê"),
    ):
        answer = await post.ask(**changes)
        assert said in answer.text
    assert (await orders(post.store), post.broker.taken) == ([], [])


async def test_one_run_at_a_time(post: Post) -> None:
    letters = await keep_dead(post.store, range(2), at=NOW - timedelta(hours=1))
    form = await post.browser.get("/letters/redrive")
    await post.ask()
    await post.arrive(letters[:0])
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form.text))
    again = await post.browser.post("/letters/redrive", data=hidden | {"reason": "again"})
    assert again.headers["location"] == "/letters?said=busy"


async def test_one_letter_is_sent_again(post: Post) -> None:
    first, _second = await keep_dead(post.store, range(2), at=NOW - timedelta(hours=1))
    page = await shown(post.browser, f"/letters/{first}")
    token = re.search(r'name="csrf" value="([^"]+)"', page)
    assert token
    path, data = f"/letters/{first}/redrive", {"csrf": token[1], "reason": "one is enough"}
    assert (
        (await post.browser.post(path, data=data | {"reason": ""})).headers["location"].endswith("no_reason")
    )
    assert (await post.browser.post(path, data=data)).headers["location"] == "/letters?said=redriving"
    await post.arrive([first])
    await post.over()
    assert len(post.broker.taken) == 1
