"""Many people at once: each opens one page after the other, for a while."""

import asyncio
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic, perf_counter

import httpx

from tests.support.console_stage import log_in

THINK_SECONDS = (0.3, 1.7)
PATIENCE_SECONDS = 60.0


@dataclass(slots=True)
class Clicks:
    """What came of it."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Crowd:
    """Who clicks where, and for how long."""

    base: str
    logins: Sequence[str]
    paths: Sequence[str]
    lasts: float


async def clicked(crowd: Crowd) -> Clicks:
    """In a thread of their own: what they wait for is not their own loop."""
    clicks = Clicks()
    thread = threading.Thread(target=lambda: asyncio.run(_all(crowd, clicks)))
    thread.start()
    while thread.is_alive():
        await asyncio.sleep(0.2)
    return clicks


async def _all(crowd: Crowd, clicks: Clicks) -> None:
    people = (_one(crowd, login, random.Random(number), clicks) for number, login in enumerate(crowd.logins))
    await asyncio.gather(*people)


async def _one(crowd: Crowd, login: str, dice: random.Random, clicks: Clicks) -> None:
    async with httpx.AsyncClient(base_url=crowd.base, trust_env=False, timeout=PATIENCE_SECONDS) as browser:
        await asyncio.sleep(dice.random())
        came = await log_in(browser, login)
        if came.status_code != httpx.codes.SEE_OTHER:
            clicks.errors.append(f"{login}: login {came.status_code}")
        ends = monotonic() + crowd.lasts
        while monotonic() < ends:
            await _click(browser, dice.choice(crowd.paths), clicks)
            await asyncio.sleep(dice.uniform(*THINK_SECONDS))


async def _click(browser: httpx.AsyncClient, path: str, clicks: Clicks) -> None:
    begun = perf_counter()
    try:
        answer = await browser.get(path)
    except httpx.HTTPError as error:
        clicks.errors.append(f"{path}: {type(error).__name__}")
        return
    clicks.seconds.append(perf_counter() - begun)
    if answer.status_code != httpx.codes.OK:
        clicks.errors.append(f"{path}: {answer.status_code}")
