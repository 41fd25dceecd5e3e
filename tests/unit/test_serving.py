"""Signals: the first stops, a hang-up reloads the policy. What runs beside a worker goes on."""

import asyncio
import os
import random
import shutil
import signal
from pathlib import Path

import pytest
from structlog.testing import capture_logs

import workers.policy
from workers.app import serving
from workers.app.databases import migrate_database, opened_store
from workers.app.serving import relaying, reload_on_hangup, stop_on_signal
from workers.app.telemetry.metering import bare_metering
from workers.config.settings import Settings
from workers.policy import PolicySource

DEFAULT = Path(workers.policy.__file__).parent / "default.toml"


async def test_the_first_signal_asks_to_stop() -> None:
    with stop_on_signal() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stop.wait(), timeout=5)


async def test_a_hangup_reads_the_policy_again_and_keeps_the_old_one_when_it_is_bad(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    shutil.copy(DEFAULT, file)
    source = PolicySource(file)
    first = source.current()
    with reload_on_hangup(source), capture_logs() as logs:
        file.write_text(DEFAULT.read_text().replace('version = "1"', 'version = "2"'), encoding="utf-8")
        await _hang_up(lambda: len(logs) == 1)
        assert source.current().version == "2" != first.version

        file.write_text("max_retries = many", encoding="utf-8")
        await _hang_up(lambda: len(logs) == 2)
        assert source.current().version == "2"
    assert [entry["event"] for entry in logs] == ["policy_reloaded", "policy_refused"]


async def _hang_up(heard: object) -> None:
    assert callable(heard)
    os.kill(os.getpid(), signal.SIGHUP)
    async with asyncio.timeout(5):
        while not heard():
            await asyncio.sleep(0.01)


NAMED = "can't start new thread: MARIA DA SILVA"


class MortalRelay:
    """Crashes, then ends as if it had been stopped, then goes on as it should."""

    def __init__(self) -> None:
        self.lives = 0
        self.carries = asyncio.Event()

    async def run(self, stop: asyncio.Event, _rng: random.Random) -> None:
        self.lives += 1
        if self.lives == 1:
            raise RuntimeError(NAMED)
        if self.lives == 3:
            self.carries.set()
            await stop.wait()


async def test_a_relay_that_ends_by_itself_is_told_of_and_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, relay = Settings(home=tmp_path / "home"), MortalRelay()
    await migrate_database(settings)
    monkeypatch.setattr(serving, "relay_to", lambda *_: relay)
    monkeypatch.setattr(serving, "FIRST_PAUSE", 0.01)
    with capture_logs() as logs:
        async with (
            opened_store(settings) as store,
            relaying(settings, store, bare_metering(settings)),
        ):
            await asyncio.wait_for(relay.carries.wait(), timeout=20)
    told = [(entry["log_level"], entry["error"]) for entry in logs if entry["event"] == "relay_ended"]
    assert told == [("error", "RuntimeError"), ("error", None)]
    assert "MARIA" not in str(logs)
    assert relay.lives == 3, "a relay that was told to stop is not begun again"
