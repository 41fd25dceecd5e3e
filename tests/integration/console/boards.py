"""What the tests of the boards share: pages as they are shown, forms as they are sent, orders on record."""

from html import unescape

import httpx

from persistence.store import Store
from tests.support.console_stage import csrf_in

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
WHO = "Ana Souza (ana, console)"


async def shown(browser: httpx.AsyncClient, path: str) -> str:
    """A page that is there, as it is read."""
    answer = await browser.get(path)
    assert answer.status_code == 200, (path, answer.text)
    return unescape(answer.text)


async def send(browser: httpx.AsyncClient, path: str, **fields: str) -> httpx.Response:
    """A form with its token."""
    token = csrf_in(await browser.get("/account"))
    return await browser.post(path, data={"csrf": token, **fields})


async def orders(store: Store) -> list[tuple[str, str, str]]:
    """What was ordered in the console: what, by whom, why."""
    kept = await store.look(lambda tx: tx.orders.newest(20))
    return [(one.action, one.ordered_by, one.reason) for one in kept if one.ordered_by != "a test"]
