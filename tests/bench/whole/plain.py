"""What a user would write instead: `python -m tests.bench.whole.plain ADDRESS TYPE DATABASE PAYER FOLDER`.

Stock pyzeebe, gently tuned, one kept HTTP client, one row per claim. It guarantees nothing: a lost answer is
a lost claim or one sent twice.
"""

import asyncio
import logging
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from pyzeebe import ZeebeWorker, create_insecure_channel
from sqlalchemy import Column, DateTime, MetaData, String, Table, insert
from sqlalchemy.ext.asyncio import create_async_engine

from gateways.tiss.lote import read_lote
from gateways.tiss.messages import envelope, lote_message, seal
from tests.bench.python_worker import GENTLE_BATCH, GENTLY_HELD, POLL_PAUSE_SECONDS
from tests.support.tiss_samples import header

AT_ONCE = 32
PATIENCE_SECONDS, LOCK_MS = 60, 300_000
"""More than the defaults, to its advantage: on a busy machine it would send a claim twice, and never end."""
PROTOCOL = re.compile(rb"numeroProtocolo>(\d+)<")
sent = Table(
    "plain_claims",
    MetaData(),
    Column("number", String, primary_key=True),
    Column("protocol", String),
    Column("began", DateTime(timezone=True)),
    Column("ended", DateTime(timezone=True)),
)


async def serve(address: str, job_type: str, database: str, place: tuple[str, Path]) -> None:
    """Send every claim that comes, until stopped; `place` is its payer's, and that of its files."""
    payer, folder = place
    waits = {"timeout": PATIENCE_SECONDS} if database.startswith("sqlite") else {}
    engine = create_async_engine(database, connect_args=waits)
    async with engine.begin() as connection:
        await connection.run_sync(sent.metadata.create_all)
    limits = httpx.Limits(max_connections=AT_ONCE)
    async with httpx.AsyncClient(trust_env=False, limits=limits, timeout=60) as http:

        async def send(claimId: str) -> None:  # noqa: N803  # pyzeebe takes the variable's own name
            began, number = datetime.now(UTC), claimId.rpartition("-")[2]
            file = (folder / f"{int(number):09d}.xml").read_bytes()
            message = envelope(seal(lote_message(header(), read_lote(file)), "iso-8859-1"), "iso-8859-1")
            answer = await http.post(payer, content=message, headers={"Content-Type": "text/xml"})
            protocol = PROTOCOL.findall(answer.content)[0].decode()
            async with engine.begin() as connection:
                row = {"number": number, "protocol": protocol, "began": began, "ended": datetime.now(UTC)}
                await connection.execute(insert(sent).values(row))

        # the annotation says int, the code takes any number of seconds
        worker: Any = ZeebeWorker(create_insecure_channel(address), poll_retry_delay=POLL_PAUSE_SECONDS)  # type: ignore[arg-type]
        worker.task(
            task_type=job_type,
            max_running_jobs=GENTLY_HELD,
            max_jobs_to_activate=GENTLE_BATCH,
            timeout_ms=LOCK_MS,
        )(send)
        await worker.work()


if __name__ == "__main__":
    logging.getLogger("pyzeebe").setLevel(logging.ERROR)  # a warning at each pause would cost it CPU time
    _, cluster, jobs, url, endpoint, files = sys.argv
    asyncio.run(serve(cluster, jobs, url, (endpoint, Path(files))))
