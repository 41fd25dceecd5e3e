"""A cable carries, dies and is cut."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.support.faults import Cable, cable_to


@pytest.fixture
async def cable() -> AsyncIterator[Cable]:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with cable_to(server.sockets[0].getsockname()[1]) as cable:
        yield cable
    server.close()
    await server.wait_closed()


async def dial(cable: Cable) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = cable.address.split(":")
    return await asyncio.open_connection(host, int(port))


async def test_it_carries_both_ways(cable: Cable) -> None:
    reader, writer = await dial(cable)
    writer.write(b"hello")
    assert await reader.read(5) == b"hello"
    writer.close()


async def test_a_dead_cable_takes_everything_and_answers_when_mended(cable: Cable) -> None:
    cable.go_dead()
    reader, writer = await dial(cable)
    writer.write(b"hello")
    reading = asyncio.create_task(reader.read(5))
    done, _ = await asyncio.wait([reading], timeout=0.1)
    assert done == set()
    cable.mend()
    assert await reading == b"hello"
    writer.close()


async def test_a_cut_cable_ends_connections_and_takes_new_ones(cable: Cable) -> None:
    reader, writer = await dial(cable)
    writer.write(b"hello")
    await reader.read(5)
    cable.cut()
    with pytest.raises(ConnectionResetError):
        await reader.readexactly(1)
    writer.close()

    reader, writer = await dial(cable)
    writer.write(b"again")
    assert await reader.read(5) == b"again"
    assert cable.connections == 2
    writer.close()
