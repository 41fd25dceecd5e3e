"""The HTTP interface under callers who say nothing, say it slowly, or come by the hundred."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from persistence.store import Store
from tests.support.intake_stage import API_TOKEN, FILE, IntakeStage, intake_stage
from workers.api import api
from workers.api.body import FILES_AT_ONCE
from workers.app.http_server import CallerLimits, Place, serving

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
TOKEN = API_TOKEN.token
XML = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/xml"}
LIMIT = 20_000
QUICK = CallerLimits(request_seconds=0.3, connections=5)
HOST = "127.0.0.1"
ANYWHERE = Place(HOST, 0, "API_PORT")


@pytest.fixture
async def stage(store: Store, tmp_path: Path) -> AsyncIterator[IntakeStage]:
    async with intake_stage(store, tmp_path, max_bytes=LIMIT) as opened:
        yield opened


def served(stage: IntakeStage, limits: CallerLimits) -> AbstractAsyncContextManager[int]:
    return serving(api(stage.ground(API_TOKEN)), ANYWHERE, limits)


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        yield reader, writer
    finally:
        writer.close()


def client(port: int) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://{HOST}:{port}", headers=XML, trust_env=False)


async def trickle(writer: asyncio.StreamWriter, begun: bytes) -> None:
    """Begin, and then say a letter now and then, for ever."""
    writer.write(begun)
    while True:
        writer.write(b"a")
        await asyncio.sleep(0.02)


async def ended(reader: asyncio.StreamReader) -> bytes:
    """What came until the other side ended it, which it must."""
    async with asyncio.timeout(10):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


@pytest.mark.parametrize("begun", [b"", b"GET /api/claims/CLM-1-1 HTTP/1.1\r\nHost: x\r\nX-Slow: "])
async def test_a_caller_who_does_not_say_what_it_wants_is_left(stage: IntakeStage, begun: bytes) -> None:
    async with (
        serving(api(stage.ground(API_TOKEN)), ANYWHERE, QUICK) as port,
        connected(port) as (reader, writer),
    ):
        writer.write(begun)
        assert await ended(reader) == b""


async def test_headers_that_trickle_in_for_ever_end_too(stage: IntakeStage) -> None:
    async with (
        serving(api(stage.ground(API_TOKEN)), ANYWHERE, QUICK) as port,
        connected(port) as (reader, writer),
    ):
        trickling = asyncio.create_task(trickle(writer, b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "))
        assert await ended(reader) == b""
        trickling.cancel()


async def test_a_body_that_trickles_on_after_its_refusal_ends(stage: IntakeStage) -> None:
    async with (
        serving(api(stage.ground(API_TOKEN)), ANYWHERE, QUICK) as port,
        connected(port) as (reader, writer),
    ):
        trickling = asyncio.create_task(
            trickle(writer, b"POST /api/claims HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n")
        )
        assert b"401" in await reader.readline()
        await ended(reader)
        trickling.cancel()


async def test_more_callers_than_may_be_there_are_not_let_in_and_the_others_are_served(
    stage: IntakeStage,
) -> None:
    patient = CallerLimits(request_seconds=60, connections=5)
    async with (
        serving(api(stage.ground(API_TOKEN)), ANYWHERE, patient) as port,
        client(port) as http,
    ):
        assert (await http.get("/api/claims/CLM-1-1")).status_code == 404
        idle = [await asyncio.open_connection(HOST, port) for _ in range(20)]
        left = await asyncio.gather(*(ended(reader) for reader, _ in idle[5:]))
        assert left == [b""] * 15
        assert (await http.get("/api/claims/CLM-1-1")).status_code == 404
        for _, writer in idle:
            writer.close()


async def test_a_chunked_body_takes_the_room_of_the_largest_whatever_length_it_names(
    stage: IntakeStage,
) -> None:
    head = "".join(f"{name}: {value}\r\n" for name, value in XML.items())
    lying = f"{head}Content-Length: 1\r\nTransfer-Encoding: chunked"
    begin = f"POST /api/claims HTTP/1.1\r\nHost: x\r\n{lying}\r\n\r\n5\r\n<?xml\r\n".encode()
    async with served(stage, CallerLimits()) as port, AsyncExitStack() as stack:
        callers = [await stack.enter_async_context(connected(port)) for _ in range(FILES_AT_ONCE + 2)]
        for _, writer in callers:
            writer.write(begin)
        waiting = {asyncio.create_task(reader.readline()) for reader, _ in callers}
        while len(waiting) > FILES_AT_ONCE:
            refused, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            assert {b"503" in answer.result() for answer in refused} == {True}
        for answer in waiting:
            answer.cancel()


async def test_files_beyond_the_room_are_asked_for_later_and_none_is_read(stage: IntakeStage) -> None:
    head = "".join(f"{name}: {value}\r\n" for name, value in XML.items())
    begin = f"POST /api/claims HTTP/1.1\r\nHost: x\r\n{head}Content-Length: {LIMIT}\r\n\r\n".encode()
    file = FILE.ljust(LIMIT)
    async with served(stage, CallerLimits()) as port, AsyncExitStack() as stack:
        callers = [await stack.enter_async_context(connected(port)) for _ in range(10)]
        for _, writer in callers:
            writer.write(begin + file[:10])
        answers = {asyncio.create_task(reader.readline()): writer for reader, writer in callers}
        waiting = {*answers}
        while len(waiting) > FILES_AT_ONCE:
            refused, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            assert {b"503" in answer.result() for answer in refused} == {True}
        for answer in waiting:
            answers[answer].write(file[10:])
        taken = sorted([(await answer).split()[1] for answer in waiting])
        assert taken == [b"200"] * (FILES_AT_ONCE - 1) + [b"202"]
        async with client(port) as http:
            assert (await http.post("/api/claims", content=FILE)).status_code == 200
