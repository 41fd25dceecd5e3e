"""Whatever comes from outside is answered or refused: no crash, no blocked loop, nobody named."""

import os
from pathlib import Path
from time import monotonic

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs

from persistence.store import Store
from tests.fuzz.readers import PASSWORD, Reader, all_readers
from tests.support.heartbeat import Heartbeat, heartbeat
from tests.support.patients import NAME, SECRETS, dump

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
NAMED_OTHERWISE = (NAME.upper(), "APARECIDA", "529%2E982", "982%2E247", "529.982", ".247-25")
"""What is left of a person whose name or number was written another way, whole or in part."""
FORBIDDEN = (*SECRETS, *NAMED_OTHERWISE, "F32.1", PASSWORD, *PASSWORD.split("#"))
BLOCKED_SECONDS = 0.1
SEEDS, LONG_SECONDS = 250, 60 * int(os.environ.get("FUZZ_MINUTES", "2"))
TRIES = 3


async def test_whatever_comes_from_outside_is_answered_or_refused(
    store: Store, database: AsyncEngine, tmp_path: Path
) -> None:
    async with all_readers(store, tmp_path) as readers, heartbeat() as heart:
        for seed in range(SEEDS):
            for reader in readers:
                await read(reader, seed, heart)
    await nobody_is_named(database)


@pytest.mark.long
@pytest.mark.timeout(LONG_SECONDS + 300)
async def test_minutes_of_whatever_comes_from_outside(
    store: Store, database: AsyncEngine, tmp_path: Path
) -> None:
    ends, seed = monotonic() + LONG_SECONDS, SEEDS
    async with all_readers(store, tmp_path) as readers, heartbeat() as heart:
        while monotonic() < ends:
            for reader in readers:
                await read(reader, seed, heart)
            seed += 1
    print(f"{seed - SEEDS} seeds, each through {len(readers)} readers")
    await nobody_is_named(database)


async def read(reader: Reader, seed: int, heart: Heartbeat) -> None:
    """Read once, and look at what was said; what seems to block must do so again to count."""
    with capture_logs() as logged:
        said = await reader.read(seed)
    named = [secret for secret in FORBIDDEN if secret in f"{said}{logged}"]
    assert not named, f"{reader.name} {seed} names {named}"
    await heart.beat()
    if heart.longest > BLOCKED_SECONDS:
        pauses = [await paused(reader, seed, heart) for _ in range(TRIES)]
        assert min(pauses) < BLOCKED_SECONDS, f"{reader.name} {seed} blocks the loop: {pauses}"
    heart.reset()


async def paused(reader: Reader, seed: int, heart: Heartbeat) -> float:
    heart.reset()
    await reader.read(seed)
    await heart.beat()
    return heart.longest


async def nobody_is_named(database: AsyncEngine) -> None:
    everything = await dump(database)
    assert [secret for secret in FORBIDDEN if secret in everything] == []
