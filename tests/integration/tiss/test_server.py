"""The simulator as a server: its ledger can be asked, its door follows the clock, its command behaves."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import httpx
import pytest

from domain.submission import Accepted, AnswerLost
from gateways.engine_clock import EngineClockError
from gateways.practice.simulator.scenario import Scenario
from gateways.practice.simulator.server import simulated_payers
from gateways.tiss.faults import DOWN
from tests.support.certificates import authority, signed
from tests.support.connected_payer import SCHEMAS, connected_payer
from tests.support.tiss_client import bare, open_client
from tests.support.tiss_samples import CALL, PAYER, lote, payer
from workers.cli.simulate import simulate_payer
from workers.config.settings import SettingsError

PROGRAM = (
    "import typer\n"
    "from workers.cli.errors import plain_errors\n"
    "from workers.cli.simulate import simulate_payer\n"
    "app = typer.Typer(pretty_exceptions_enable=False)\n"
    "app.command()(simulate_payer)\n"
    "with plain_errors():\n"
    "    app()\n"
)
TOTAL_SECONDS = 20.0


class MovedClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 15, tzinfo=UTC)
        self.stopped = False

    async def now(self) -> datetime:
        if self.stopped:
            raise EngineClockError("The engine is gone.")
        return self.moment


async def get(url: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.get(url)


async def test_the_ledger_can_be_asked_over_http() -> None:
    async with connected_payer() as played:
        await played.client.submit(lote(), CALL)
        rows = (await get(f"{played.simulator.url}/_ledger")).json()
        assert [(row["lote"], row["verdict"]) for row in rows] == [("200000000001", "taken")]
        assert (await get(f"{played.simulator.url}/_health")).text == "ok"
        assert (await get(f"{played.simulator.url}/elsewhere")).status_code == 404


async def played(seed: int) -> list[str]:
    """What becomes of twenty batches at a payer that is out half of the time."""
    half = {"registro_ans": PAYER, "rules": [{"chance": 0.5, "then": {"do": "http"}}]}
    scenario = Scenario.model_validate({"seed": seed, "payers": [half]})
    async with simulated_payers(scenario, MovedClock()) as simulator:
        async with open_client(payer(f"{simulator.url}/{PAYER}"), SCHEMAS) as client:
            for n in range(20):
                await client.submit(lote(str(n + 1), first=n), CALL)
        return [entry.verdict for entry in simulator.ledger.entries]


async def test_a_scenarios_seed_alone_says_whom_chance_meets() -> None:
    first = await played(1)
    assert set(first) == {"taken", "http:503"}
    assert await played(1) == first
    assert await played(2) != first


async def test_an_unknown_payer_has_no_desk() -> None:
    async with connected_payer() as played, httpx.AsyncClient(trust_env=False) as client:
        assert (await client.post(f"{played.simulator.url}/111111", content=b"x")).status_code == 404


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"POST /999999 HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"POST /999999 HTTP/1.1\r\nContent-Length: 100\r\n\r\nshort",
        b"x" * 100_000,
        b"",
    ],
)
async def test_a_request_that_is_none_is_hung_up_on_and_the_next_is_served(request_bytes: bytes) -> None:
    async with connected_payer() as played:
        reader, writer = await asyncio.open_connection("127.0.0.1", played.simulator.port)
        writer.write(request_bytes)
        writer.write_eof()
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        assert isinstance(await played.client.submit(lote(), CALL), Accepted)


async def test_the_door_is_closed_in_its_windows_on_the_simulators_clock() -> None:
    clock = MovedClock()
    closed = [{"start": "PT1H", "end": "PT2H"}]
    scenario = Scenario.model_validate({"payers": [{"registro_ans": PAYER}], "closed": closed})
    async with (
        simulated_payers(scenario, clock) as simulator,
        open_client(payer(f"{simulator.url}/{PAYER}"), SCHEMAS) as client,
    ):
        assert isinstance(await client.submit(lote("1", first=1), CALL), Accepted)
        clock.moment += timedelta(minutes=90)
        await until(simulator.port, is_open=False)
        assert bare(await client.submit(lote("2", first=2), CALL)) == DOWN
        clock.moment += timedelta(minutes=60)
        await until(simulator.port, is_open=True)
        assert isinstance(await client.submit(lote("2", first=2), CALL), Accepted)


async def test_without_its_clock_the_simulator_fails_as_servers_do_and_takes_nothing() -> None:
    clock = MovedClock()
    async with (
        simulated_payers(Scenario(), clock) as simulator,
        open_client(payer(f"{simulator.url}/{PAYER}"), SCHEMAS) as client,
    ):
        clock.stopped = True
        assert isinstance(await client.submit(lote(), CALL), AnswerLost)
        assert simulator.ledger.entries == ()


async def until(port: int, *, is_open: bool) -> None:
    async with asyncio.timeout(TOTAL_SECONDS):
        while await answers(port) is not is_open:
            await asyncio.sleep(0.02)


async def answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionError:  # refused, or reset by a door that closes in this moment
        return False
    writer.close()
    return True


@contextmanager
def command(*options: str) -> Iterator[subprocess.Popen[str]]:
    program = [sys.executable, "-c", PROGRAM, "--port", "0", *options]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


async def address(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    async with asyncio.timeout(TOTAL_SECONDS):
        line = await asyncio.to_thread(process.stdout.readline)
    return line.strip().rpartition(" ")[2]


async def test_the_command_serves_https_keeps_its_ledger_and_stops_at_a_signal(tmp_path: Path) -> None:
    scenario, ledger, ca = tmp_path / "scenario.toml", tmp_path / "ledger.jsonl", authority(tmp_path)
    pair, client_pair = signed(tmp_path, "server", ca), signed(tmp_path, "client", ca)
    scenario.write_text(f'[[payers]]\nregistro_ans = "{PAYER}"\nversion = "4.01.00"\n')
    files = ("--certificate", pair.certificate, "--key", pair.key, "--client-ca", ca.certificate)
    with command("--scenario", str(scenario), "--ledger", str(ledger), *map(str, files)) as process:
        own = {"ca_file": ca.certificate, "certificate": client_pair.certificate, "key": client_pair.key}
        async with open_client(payer(await address(process), version="4.01.00", **own), SCHEMAS) as client:
            assert isinstance(await client.submit(lote(), CALL), Accepted)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, TOTAL_SECONDS) == 0
    assert json.loads(ledger.read_text())["verdict"] == "taken"


@asynccontextmanager
async def engine_clock(moment: datetime) -> AsyncIterator[str]:
    """An engine's management address of which only the clock answers."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = json.dumps({"epochMilli": int(moment.timestamp() * 1000)})
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write((head + body).encode())
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


async def test_the_command_lives_by_an_engines_clock() -> None:
    moment = datetime(2031, 5, 6, 7, 8, tzinfo=UTC)
    async with engine_clock(moment) as url:
        with command("--clock-url", url) as process:
            payers_url = await address(process)
            async with open_client(payer(payers_url), SCHEMAS) as client:
                await client.submit(lote(), CALL)
            (row,) = (await get(payers_url.replace(PAYER, "_ledger"))).json()
            assert row["at"] == moment.isoformat()
            process.send_signal(signal.SIGINT)
            assert await asyncio.to_thread(process.wait, TOTAL_SECONDS) == 0


def test_the_command_says_in_one_line_what_is_wrong(tmp_path: Path) -> None:
    nowhere, broken = tmp_path / "nowhere", tmp_path / "broken"
    broken.write_text("junk")
    for run, why in (
        (partial(simulate_payer, scenario=nowhere), "No such file"),
        (partial(simulate_payer, certificate=nowhere), "The certificate files cannot be used"),
        (partial(simulate_payer, certificate=broken), "The certificate files cannot be used"),
        (partial(simulate_payer, ledger=broken), "is no ledger of ours"),
    ):
        with pytest.raises(SettingsError, match=why) as refused:
            run()
        assert "\n" not in str(refused.value)


def test_a_port_that_cannot_be_had_is_told_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"cannot listen at 127.0.0.1:{port}"):
            simulate_payer(port=port)
