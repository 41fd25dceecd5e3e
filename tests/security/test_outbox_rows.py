"""A spoilt row of the outbox is set aside with an alarm, and no other event waits behind it."""

import asyncio
import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs

from gateways.clock import WallClock
from gateways.file_sink import FileSink
from gateways.sink import OutgoingEvent
from persistence.store import Store
from tests.support.builders import draft, later
from tests.support.terminal import Terminal, terminal
from workers.app.composition import relay_to
from workers.app.telemetry.metering import bare_metering
from workers.config.settings import Settings
from workers.upkeep.relay import Relay, RelayTerms

__all__ = ["terminal"]
on_sqlite = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
SPOILT = {
    "cut short": "payload = substr(payload, 1, 9)",
    "no object": "payload = '[]'",
    "empty": "payload = ''",
    "too deep": f"payload = '{'[' * 9_999}'",
}
SPOILT_ON_SQLITE = {
    "no time": "created_at = 'yesterday'",
    "a number": "created_at = 5",
    "a fraction": "created_at = 1.5",
    "bytes": "created_at = x'00'",
    "no text": "payload = x'7b7d'",
    "no UTF-8": "payload = CAST(x'ff' AS TEXT)",
    "half a pair": """payload = '{"a": "' || CAST(x'eda080' AS TEXT) || '"}'""",
}


async def three_events(store: Store, database: AsyncEngine, spoilt: str) -> None:
    for number in range(3):
        await store.record(draft(f"CLM-R-{number}", now=later(minutes=number)))
    async with database.begin() as connection:
        await connection.execute(text(f"UPDATE outbox SET {spoilt} WHERE claim_id = 'CLM-R-1'"))  # noqa: S608


def carried(file: Path) -> list[str]:
    return [json.loads(line)["claimId"] for line in file.read_text(encoding="utf-8").splitlines()]


async def others_are_carried(store: Store, database: AsyncEngine, file: Path, spoilt: str) -> None:
    await three_events(store, database, spoilt)
    counted: list[int] = []
    terms = RelayTerms("one", batch=2, idle=0.005, on_set_aside=counted.append)
    relay, stop = Relay(store, FileSink(file), WallClock(), terms), asyncio.Event()
    with capture_logs() as logs:
        while await relay.carry():
            pass
        stop.set()
        await relay.run(stop, random.Random(1))
    assert carried(file) == ["CLM-R-0", "CLM-R-2"]
    alarms = [entry for entry in logs if entry["event"] == "event_set_aside"]
    assert [(alarm["log_level"], alarm["position"]) for alarm in alarms] == [("error", 2)]
    assert counted == [1]
    lag = await relay.lag()
    assert (lag.waiting, lag.set_aside) == (0, 1)


@pytest.mark.parametrize("spoilt", SPOILT.values(), ids=SPOILT)
async def test_an_event_that_cannot_be_read_stops_no_other(
    store: Store, database: AsyncEngine, tmp_path: Path, spoilt: str
) -> None:
    await others_are_carried(store, database, tmp_path / "events.jsonl", spoilt)


@on_sqlite
@pytest.mark.parametrize("spoilt", SPOILT_ON_SQLITE.values(), ids=SPOILT_ON_SQLITE)
async def test_a_row_that_not_even_the_driver_can_read_stops_no_other(
    store: Store, database: AsyncEngine, tmp_path: Path, spoilt: str
) -> None:
    await others_are_carried(store, database, tmp_path / "events.jsonl", spoilt)


@on_sqlite
async def test_an_event_set_aside_is_counted_in_the_metrics_and_told_by_lag(
    terminal: Terminal, store: Store, database: AsyncEngine, tmp_path: Path
) -> None:
    await three_events(store, database, SPOILT["cut short"])
    metering = bare_metering(Settings())
    assert await relay_to(FileSink(tmp_path / "x.jsonl"), store, metering.set_aside).carry() == 3
    assert b"reenvio_events_set_aside_total 1.0" in metering.metrics.exposition()
    _, out, _ = await terminal.run("relay", "--lag")
    assert "0 events wait" in out
    assert "1 are set aside" in out


@on_sqlite
async def test_what_the_queue_lost_is_sent_again_with_the_ids_it_had(
    terminal: Terminal, store: Store, tmp_path: Path
) -> None:
    for number in range(4):
        await store.record(draft(f"CLM-R-{number}", now=datetime(2026, 1, 12, number, tzinfo=UTC)))
    file = tmp_path / "events.jsonl"
    await terminal.run("relay", "--once")
    first = file.read_text().splitlines()
    file.unlink()  # what a queue without persistence does when it restarts
    await store.record(draft("CLM-R-9"))  # waits for the relay, and is none of those
    code, out, _ = await terminal.run("relay", "--from", "2026-01-12T01:00:00Z", "--dry-run")
    assert (code, out, file.exists()) == (0, "3 events would be sent again, with the ids they had.\n", False)
    code, out, err = await terminal.run("relay", "--from", "2026-01-12T01:00:00Z")
    assert (code, out) == (0, "3 events sent again, with the ids they had.\n")
    assert "3 of 3" in err
    assert file.read_text().splitlines() == first[1:]
    file.unlink()
    await terminal.run("relay", "--from", json.loads(first[2])["eventId"])
    assert file.read_text().splitlines() == first[2:]


@on_sqlite
@pytest.mark.parametrize(
    ("start", "code", "told"),
    [
        ("yesterday", 2, "--from"),
        ("9999-12-31", 2, "years"),
        ("2098-01-01", 1, "No event is kept from there on"),
        ("6c0bd0f5-3b1e-5d55-9d53-7a0d1f6f2a04", 1, "No event is kept from there on"),
    ],
)
async def test_a_start_that_is_none_says_so_and_sends_nothing(
    terminal: Terminal, tmp_path: Path, start: str, code: int, told: str
) -> None:
    done, out, err = await terminal.run("relay", "--from", start)
    assert (done, told in err, out) == (code, True, "")
    assert not (tmp_path / "events.jsonl").exists()


QUOTING = "can't start new thread, said for CPF 529.982.247-25"


class OddSink:
    """A sink that meets what nobody foresaw, so many times."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.sent: list[OutgoingEvent] = []
        self.stop = asyncio.Event()

    async def send(self, events: Sequence[OutgoingEvent]) -> None:
        if self.left:
            self.left -= 1
            raise RuntimeError(QUOTING)
        self.sent += events
        self.stop.set()

    async def close(self) -> None:
        pass


async def test_a_relay_goes_on_after_what_nobody_foresaw(store: Store) -> None:
    await store.record(draft())
    sink = OddSink(3)
    relay = Relay(store, sink, WallClock(), RelayTerms("one", idle=0.005, first_pause=0.005))
    with capture_logs() as logs:
        async with asyncio.timeout(30):
            await relay.run(sink.stop, random.Random(1))
    assert sink.sent
    crashes = [entry for entry in logs if entry["event"] == "relay_crashed"]
    assert [(crash["log_level"], crash["error"]) for crash in crashes] == [("error", "RuntimeError")] * 3
    assert "529.982" not in str(logs)
