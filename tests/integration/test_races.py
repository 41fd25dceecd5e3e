"""Several processes at once: the database, not luck, decides who goes first."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.encryption.keys import made_cipher
from persistence.store import Store
from tests.integration.racer import ROUNDS
from tests.support.builders import NOW
from tests.support.databases import SEALS

RACERS = 4
PATIENCE_SECONDS = 60.0


def all_ready(folder: Path) -> bool:
    return len(list(folder.glob("ready-*"))) == RACERS


async def race(url: str, folder: Path) -> list[dict[str, Any]]:
    commands = [
        (sys.executable, "-m", "tests.integration.racer", url, str(folder), str(n)) for n in range(RACERS)
    ]
    racers = [await asyncio.create_subprocess_exec(*c, stdout=asyncio.subprocess.PIPE) for c in commands]
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not all_ready(folder):
            await asyncio.sleep(0.01)
    (folder / "go").touch()
    outputs = [(await racer.communicate())[0] for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * RACERS
    return [json.loads(output) for output in outputs]


async def test_an_operation_starts_once_and_a_job_gets_one_answer_whoever_asks(
    url: str, database: AsyncEngine, tmp_path: Path
) -> None:
    results = await race(url, tmp_path)
    assert sorted(n for result in results for n in result["started"]) == list(range(ROUNDS))
    for number in map(str, range(ROUNDS)):
        first, *others = [result["answers"][number] for result in results]
        assert all(other == first for other in others)
    async with Store(database, SEALS).reading() as tx:
        assert [problem async for problem in tx.verification.problems(NOW)] == []
        assert tx.verification.tally.decisions == ROUNDS
        assert (await tx.outbox.lag()).waiting == ROUNDS


async def test_of_several_that_make_the_key_file_one_wins(tmp_path: Path) -> None:
    ciphers = await asyncio.gather(*(asyncio.to_thread(made_cipher, tmp_path) for _ in range(8)))
    stored = ciphers[0].encrypt("text", context="x")
    assert {cipher.decrypt(stored, context="x") for cipher in ciphers} == {"text"}
