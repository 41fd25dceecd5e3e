"""The embedded engine's clock, which can be moved."""

import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import httpx

from domain.errors import Trouble

_ANSWER_SECONDS = 10.0


class EngineClockError(Trouble):
    """One line: what is wrong with the engine's clock, and what to do."""


class EngineClock:
    """The embedded broker's controlled clock, read anew each time, since anybody may move it."""

    def __init__(
        self,
        management_url: str,
        client: httpx.AsyncClient | None = None,
        *,
        remember: Callable[[timedelta], None] | None = None,
    ) -> None:
        """`remember` hears the new offset from the wall clock after each move."""
        self._url = f"{management_url}/actuator/clock"
        self._client = client
        self._remember = remember

    async def now(self) -> datetime:
        """The engine's present moment."""
        return await self._ask("GET", self._url)

    async def offset(self) -> timedelta:
        """How far the engine is ahead of the wall clock."""
        return await self.now() - datetime.now(UTC)

    async def advance(self, by: timedelta) -> datetime:
        """Move the engine's clock forward; returns the engine's new present."""
        if by < timedelta(0):
            raise EngineClockError("The engine's clock only goes forward: give a positive duration.")
        milliseconds = by // timedelta(milliseconds=1)
        moved = await self._ask("POST", f"{self._url}/add", {"offsetMilli": milliseconds})
        if self._remember is not None:
            self._remember(moved - datetime.now(UTC))
        return moved

    async def _ask(self, method: str, url: str, body: Mapping[str, int] | None = None) -> datetime:
        try:
            async with self._http() as http:
                answer = await http.request(method, url, json=body, timeout=_ANSWER_SECONDS)
        except httpx.HTTPError as error:
            raise EngineClockError(
                f"The engine's clock does not answer at {url}: see `reenvio engine status`, "
                "or start it with `reenvio engine start`."
            ) from error
        return _moment(answer)

    @asynccontextmanager
    async def _http(self) -> AsyncIterator[httpx.AsyncClient]:
        if self._client is not None:
            yield self._client
            return
        # plain HTTP on localhost: no proxies, and no time lost on loading certificates
        bare = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        async with httpx.AsyncClient(verify=bare, trust_env=False) as own:
            yield own


def _moment(answer: httpx.Response) -> datetime:
    if answer.status_code in (httpx.codes.FORBIDDEN, httpx.codes.NOT_FOUND):
        raise EngineClockError(
            "This engine's clock cannot be moved: only one started by `reenvio engine start` "
            "(ZEEBE_CLOCK_CONTROLLED=true) has a controlled clock."
        )
    try:
        return datetime.fromtimestamp(answer.raise_for_status().json()["epochMilli"] / 1000, UTC)
    except (httpx.HTTPError, KeyError, TypeError, ValueError) as error:
        raise EngineClockError(
            f"The engine's clock answered HTTP {answer.status_code} and no time: see `reenvio engine logs`."
        ) from error
