"""Signals: the first stops, a hang-up reloads the policy."""

import asyncio
import os
import shutil
import signal
from pathlib import Path

from structlog.testing import capture_logs

import workers.policy
from workers.app.serving import reload_on_hangup, stop_on_signal
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
