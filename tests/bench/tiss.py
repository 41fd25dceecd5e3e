"""How long a batch takes, step by step, and how many sends a second: `python -m tests.bench.tiss`."""

import asyncio
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter

from rich.console import Console
from rich.table import Table

from domain.submission import Accepted
from gateways.clock import WallClock
from gateways.practice.simulator import replies
from gateways.practice.simulator.ledger import TAKEN, LedgerEntry
from gateways.practice.simulator.replies import Card, ReplyContext
from gateways.practice.simulator.scenario import PayerScenario, Scenario
from gateways.practice.simulator.server import Listening, simulated_payers
from gateways.tiss.client import Call
from gateways.tiss.judgement import HttpAnswer, judge_submission
from gateways.tiss.lote import Lote, read_lote
from gateways.tiss.messages import envelope, lote_message, seal
from gateways.tiss.names import Version
from gateways.tiss.parties import Payer
from gateways.tiss.validation import Schemas
from tests.support.certificates import authority, server_side, signed
from tests.support.tiss_client import open_client
from tests.support.tiss_samples import CARD, PAYER, PROVIDER, file_bytes, file_text, header, lote, payer

ROUNDS = 200
SENDS = 400
SCHEMAS = Schemas()


def millis(work: Callable[[], object]) -> float:
    """The median time of one call."""
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        work()
        times.append((perf_counter() - start) * 1e3)
    return median(times)


def receipt_for(batch: Lote) -> bytes:
    """The answer to a batch."""
    at = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
    head = ReplyContext(Payer(PAYER), PROVIDER, Version.V4_03_00, at)
    entry = LedgerEntry(at, PAYER, "loteGuiasWS", TAKEN, batch.number, "900000000001", batch.guides)
    return replies.receipt(head, entry, tuple(Card(guide, CARD) for guide in batch.guides))


def steps_row(guides: int) -> tuple[str, ...]:
    """Every step of one batch, in milliseconds."""
    file = file_bytes(file_text(guides=guides))
    batch = read_lote(file)
    message = seal(lote_message(header(), batch), "iso-8859-1")
    sent, answer = len(envelope(message, "iso-8859-1")), receipt_for(batch)
    times = (
        millis(lambda: read_lote(file)),
        millis(lambda: seal(lote_message(header(), batch), "iso-8859-1")),
        millis(lambda: SCHEMAS.violations(message, Version.V4_03_00)),
        millis(lambda: envelope(message, "iso-8859-1")),
        millis(lambda: judge_submission(HttpAnswer(200, answer), batch)),
    )
    return (str(guides), f"{sent / 1024:.0f}", *(f"{time:.2f}" for time in times), f"{sum(times):.2f}")


def steps_table() -> Table:
    """Time per batch of 1, 10 and 100 guides."""
    table = Table(title=f"One batch, milliseconds (median of {ROUNDS})", title_justify="left")
    for name in ("guides", "KB", "read file", "build, hash", "XSD", "write", "judge answer", "sum"):
        table.add_column(name, justify="right")
    for guides in (1, 10, 100):
        table.add_row(*steps_row(guides))
    return table


async def sends_per_second(at_once: int, listening: Listening, ca: Path) -> float:
    """Batches of one guide through the simulator, client and simulator in one process."""
    scenario = Scenario(payers=(PayerScenario(registro_ans=PAYER),))
    batches = [lote(str(number), first=number) for number in range(1, SENDS + 1)]
    async with simulated_payers(scenario, WallClock(), listening) as simulator:
        settings = payer(
            f"{simulator.url}/{PAYER}",
            at_once=at_once,
            ca_file=ca,
            timeouts={"queue": 240, "connect": 60, "read": 60, "total": 240},
        )
        async with open_client(settings, SCHEMAS) as client:
            start = perf_counter()
            calls = (client.submit(batch, Call("1", datetime.now(UTC))) for batch in batches)
            outcomes = await asyncio.gather(*calls)
            seconds = perf_counter() - start
    if not all(isinstance(outcome, Accepted) for outcome in outcomes):
        raise SystemExit("Some sends failed: the numbers would mean nothing.")
    return SENDS / seconds


async def sends_table() -> Table:
    """Sends per second over HTTP and HTTPS, a new connection each."""
    table = Table(title=f"Sends per second ({SENDS} batches of one guide)", title_justify="left")
    for name in ("at once", "HTTP", "HTTPS"):
        table.add_column(name, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        ca = authority(Path(folder))
        secure = Listening(tls=server_side(signed(Path(folder), "server", ca)))
        for at_once in (1, 8, 32):
            rates = [
                await sends_per_second(at_once, place, ca.certificate) for place in (Listening(), secure)
            ]
            table.add_row(str(at_once), *(f"{rate:.0f}" for rate in rates))
    return table


def main() -> None:
    """Print both tables."""
    console = Console()
    console.print(steps_table())
    console.print(asyncio.run(sends_table()))


if __name__ == "__main__":
    main()
