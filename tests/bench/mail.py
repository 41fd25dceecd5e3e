"""How long a mail takes from its job to the mail server's answer: `python -m tests.bench.mail [MAILS]`.

A real broker, a mail server that answers at once, one worker; mails come one by one at uneven moments.
Measured from the engine's answer that the mail's process has begun: with it the job exists. Other processes'
mails are found by looking (`LaneTerms.look_seconds`), so that they take longer by half of that on average.
"""

import asyncio
import random
import sys
from argparse import ArgumentParser, Namespace, RawTextHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import psutil

from bpmn.names import Variable
from domain.mail.mail import Mail, MailContent, message_id, outbox_id
from gateways.zeebe import engine
from gateways.zeebe.messages import ProcessMessage
from tests.bench.figures import percentile
from tests.support.broker import any_ports
from tests.support.redrive_scene import RedriveScene, redrive_scene
from workers.app.logs import configure_logs
from workers.config.settings import read_settings
from workers.mail.queueing import MailQueue, MailRequest, nobody_waits

MAILS, WARM_UP = 300, 40
TOLD_EVERY = 100
EVERY_SECONDS = (0.1, 0.3)
READY_SECONDS, LOOK_SECONDS = 600.0, 0.01
DOMAIN = "hospital.example"
MOST_MS = {50: 50.0, 95: 250.0}
"""03-retry-backoff-dlq's latencies of a mail that is not sent again, by their percentile."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """From each mail's job to the server's answer, in milliseconds."""

    how: str
    millis: Sequence[float]

    def __str__(self) -> str:
        shown = ", ".join(f"p{share} {percentile(self.millis, share / 100):.1f} ms" for share in (50, 95, 99))
        return f"{self.how}: {shown}, longest {max(self.millis):.1f} ms, of {len(self.millis)} mails"

    def missed(self) -> list[str]:
        """The aims that were not met."""
        found = {share: percentile(self.millis, share / 100) for share in MOST_MS}
        return [
            f"{self.how}: p{share} is {found[share]:.1f} ms, not under {most:.0f} ms"
            for share, most in MOST_MS.items()
            if found[share] >= most
        ]


async def measured(scene: RedriveScene, queue: MailQueue, how: str, number: int) -> Latencies:
    """So many mails, each after a pause of its own."""
    luck, begun = random.Random(number), dict[str, float]()

    async def publish(message: ProcessMessage) -> bool:
        is_taken = await queue.publish(message)
        begun[message_id(message.variables[Variable.OUTBOX_ID], DOMAIN)] = perf_counter()
        return is_taken

    timed = replace(queue, publish=publish)
    for one in range(number):
        if one and one % TOLD_EVERY == 0:
            print(f"  {how}: {one} of {number} mails", flush=True)
        await timed.start([await _queued(scene, queue, f"{how} {one}")], await scene.app.clock.now())
        await asyncio.sleep(luck.uniform(*EVERY_SECONDS))
    await _all_arrived(scene, set(begun))
    answered = {one.message_id: one.at for one in scene.mailbox.arrived}
    return Latencies(how, [1e3 * (answered[one] - since) for one, since in begun.items()])


async def _queued(scene: RedriveScene, queue: MailQueue, name: str) -> Mail:
    content = MailContent("OPERATIONS", "permanent-error", "pt", {"claimId": "CLM-1-1"})
    now = await scene.app.clock.now()
    request = MailRequest(outbox_id("bench", name), content)
    return await scene.app.store.run(lambda tx: queue.add(tx, request, now))


async def _all_arrived(scene: RedriveScene, wanted: set[str]) -> None:
    async with asyncio.timeout(READY_SECONDS):
        while wanted - {one.message_id for one in scene.mailbox.arrived}:
            await asyncio.sleep(LOOK_SECONDS)


async def run(folder: Path, number: int) -> list[str]:
    """Both ways: asked for where the worker is, and by another process, of which it learns by looking."""
    config = engine.EngineConfig(
        home=folder / "engine",
        cache=read_settings().engine.config().cache,
        ports=any_ports(),
        ready_seconds=READY_SECONDS,
    )
    broker = engine.start(config, engine.SilentReporter())
    try:
        async with redrive_scene(broker, config.home, folder) as scene:
            told = scene.app.mail.queue
            untold = replace(told, tell=nobody_waits)
            await measured(scene, told, "warm-up", WARM_UP)
            found = [
                await measured(scene, told, "asked for in the worker's process", number),
                await measured(scene, untold, "asked for by another process", number),
            ]
    finally:
        engine.stop(config)
    for one in found:
        print(f"{one}; load {psutil.getloadavg()[0]:.1f}")
    return [missed for one in found for missed in one.missed()]


def _arguments() -> Namespace:
    parser = ArgumentParser(
        prog="python -m tests.bench.mail", description=__doc__, formatter_class=RawTextHelpFormatter
    )
    parser.add_argument("mails", type=int, nargs="?", default=MAILS, help=f"mails of each way ({MAILS})")
    arguments = parser.parse_args()
    if arguments.mails < 1:
        parser.error("MAILS is one or more")
    return arguments


if __name__ == "__main__":
    number = _arguments().mails
    with TemporaryDirectory(prefix="reenvio-mail-") as place:
        configure_logs("warning", "console")
        failures = asyncio.run(run(Path(place), number))
    for failure in failures:
        print(f"aim not met: {failure}")
    sys.exit(1 if failures else 0)
