"""A redrive of 1,000 dead letters on a real broker: preview, waves, the stop, a kill, the resume.

python -m tests.bench.redrive [LETTERS]
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from gateways.zeebe import engine
from tests.support.broker import any_ports
from tests.support.redrive_scene import RedriveScene, redrive_scene
from workers.app.logs import configure_logs
from workers.config.settings import read_settings

LETTERS = 1_000
SPEED = ("--per-minute", "6000")
BAD = range(155, 315)
"""The sixth wave: 5, 10, 20, 40 and 80 go before it."""
KILLED_AFTER = 200


async def measured(scene: RedriveScene, letters: int) -> None:
    await scene.die(letters)
    scene.refuse(BAD)
    await _shown("preview, and no yes", scene, lambda: scene.redrive(*SPEED))
    await _shown(f"redrive; {len(BAD)} mailboxes are unknown", scene, lambda: scene.redrive("--yes", *SPEED))
    scene.refuse(range(0))
    await _shown(f"mended; resumed, killed after {KILLED_AFTER} more", scene, lambda: _killed(scene))
    await _shown("resumed to the end", scene, lambda: scene.redrive("--yes", *SPEED))
    await scene.none_is_left()
    twice = sum(number > 1 for number in scene.copies.values())
    print(f"{len(scene.copies)} of {letters} arrived, {twice} of them twice; dead letters left: 0")


async def _killed(scene: RedriveScene) -> tuple[int, str, str]:
    wanted = len(scene.copies) + KILLED_AFTER
    child = await scene.started("--yes", *SPEED)
    await scene.arrive(wanted)
    child.kill()
    out, err = await child.communicate()
    return child.returncode or 0, out.decode(), err.decode()


async def _shown(what: str, scene: RedriveScene, run: Callable[[], Awaitable[tuple[int, str, str]]]) -> None:
    began, before = perf_counter(), len(scene.copies)
    code, out, err = await run()
    took, sent = perf_counter() - began, len(scene.copies) - before
    print(f"{what}: exit {code} after {took:.1f} s, {sent} arrived, {await scene.letters()} letters")
    last = err.strip().splitlines()[-1:]
    for line in out.splitlines() or last:
        print(f"    {line}")


async def run(folder: Path, letters: int) -> None:
    config = engine.EngineConfig(
        home=folder / "engine", cache=read_settings().engine.config().cache, ports=any_ports()
    )
    broker = engine.start(config, engine.SilentReporter())
    try:
        async with redrive_scene(broker, config.home, folder, at_once=20) as scene:
            await measured(scene, letters)
    finally:
        engine.stop(config)


if __name__ == "__main__":
    with TemporaryDirectory(prefix="reenvio-redrive-") as place:
        configure_logs("warning", "console")
        asyncio.run(run(Path(place), int(sys.argv[1]) if len(sys.argv) > 1 else LETTERS))
