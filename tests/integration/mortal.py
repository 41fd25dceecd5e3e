"""Lives to be killed: delivers jobs to children that die at a chosen step, then to ones that do not.

`python -m tests.integration.mortal DATABASE_URL FOLDER KILLS` prints how often it killed at which step.
"""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from itertools import count, cycle
from pathlib import Path
from typing import Any

from domain.submission import Accepted, Duplicate, SendResult, Submission
from gateways.file_sink import FileSink
from gateways.sink import OutgoingEvent
from persistence.database.engine import open_database
from persistence.encryption.keys import made_cipher
from persistence.store import Store, Transaction
from tests.support.builders import NOW
from tests.support.databases import SEALS
from tests.support.services import services
from workers.jobs import all_handlers
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Throw, to_json
from workers.upkeep.relay import Relay, RelayTerms

Step = Callable[[str], None]
REDELIVERED_AFTER = {"submit-claim": timedelta(minutes=5), "retry-submission-backoff": timedelta(seconds=30)}
RELAY_LEASE = timedelta(seconds=31)


class Reaper:
    """Counts the steps of a life and ends it, the hard way, at the chosen one."""

    def __init__(self, dies_at: int | None) -> None:
        self._dies_at = dies_at
        self.steps: list[str] = []

    def __call__(self, name: str) -> None:
        self.steps.append(name)
        if len(self.steps) == self._dies_at:
            os.kill(os.getpid(), signal.SIGKILL)


class MortalStore(Store):
    """Passes a step before and after each commit."""

    def __init__(self, url: str, step: Step) -> None:
        super().__init__(open_database(url), SEALS)
        self._step = step

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        self._step("begin")
        async with super().transaction() as tx:
            yield tx
            self._step("before commit")
        self._step("after commit")


class MortalClock:
    """A clock that passes a step when asked."""

    def __init__(self, moment: datetime, step: Step) -> None:
        self._moment = moment
        self._step = step

    async def now(self) -> datetime:
        self._step("clock")
        return self._moment


class MortalPayer:
    """A payer that keeps a ledger on disk, and knows a duplicate when it sees one."""

    def __init__(self, ledger: Path, step: Step) -> None:
        self._ledger = ledger
        self._step = step

    async def send(self, submission: Submission, _now: datetime) -> SendResult:
        known = self._ledger.read_text().splitlines() if self._ledger.exists() else []
        if submission.claim_id in known:
            return Duplicate()
        with self._ledger.open("a") as opened:
            opened.write(submission.claim_id + "\n")
        self._step("sent")
        return Accepted(f"P-{submission.claim_id}")


class MortalSink(FileSink):
    """A file sink that passes a step when it has the events."""

    def __init__(self, file: Path, step: Step) -> None:
        super().__init__(file)
        self._step = step

    async def send(self, events: Sequence[OutgoingEvent]) -> None:
        await super().send(events)
        self._step("handed over")


async def deliver(url: str, folder: Path, job: Job, now: datetime, step: Step) -> None:
    """What a worker does with one delivery, up to its report."""
    step("received")
    store, clock = MortalStore(url, step), MortalClock(now, step)
    payer = MortalPayer(folder / "payer.txt", step)
    cipher = made_cipher(folder)
    handlers = all_handlers(services(store, payer=payer, clock=clock, cipher=cipher))
    [handler] = [handler for handler in handlers if handler.type == job.type]
    outcome = await handler.handle(job)
    step("before report")
    assert isinstance(outcome, Complete | Throw), outcome
    report = {"job": job.key, "type": job.type, "outcome": to_json(outcome)}
    with (folder / "reported.jsonl").open("a") as opened:
        opened.write(json.dumps(report) + "\n")
    step("after report")


async def carry(url: str, folder: Path, now: datetime, step: Step) -> None:
    """What the relay does with one batch."""
    store = MortalStore(url, step)
    sink = MortalSink(folder / "events.jsonl", step)
    await Relay(store, sink, MortalClock(now, step), RelayTerms(str(os.getpid()))).carry()
    step("carried")


def child(life: Coroutine[Any, Any, None]) -> int:
    """Live in a process of its own; its exit status."""
    pid = os.fork()
    if pid == 0:
        try:
            asyncio.run(life)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    life.close()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def job(key: int, job_type: str) -> Job:
    """A job about a claim of its own."""
    error = {"submissionError": "TIMEOUT - Connection timeout after 30s", "retryCount": key % 5}
    variables = {"claimId": f"CLM-KILL-{key}", "payerId": "payer-1"} | error
    return Job(key, job_type, "Task", key, 3, {}, variables)


def main(url: str, folder: Path, kills: int) -> None:
    """Kill so often; each job is killed at one step and then delivered again."""
    killed: Counter[str] = Counter()
    keys, now = count(1), NOW
    lives = cycle(("retry-submission-backoff", "submit-claim", "relay"))
    dies_at: Counter[str] = Counter()
    while killed.total() < kills:
        kind, key = next(lives), next(keys)
        dies_at[kind] += 1

        def life(step: Step, moment: datetime, kind: str = kind, key: int = key) -> Coroutine[Any, Any, None]:
            if kind == "relay":
                return carry(url, folder, moment, step)
            return deliver(url, folder, job(key, kind), moment, step)

        status = child(life(Reaper(dies_at[kind]), now))
        now += REDELIVERED_AFTER.get(kind, RELAY_LEASE)
        if status == -signal.SIGKILL:
            killed[f"{kind} {dies_at[kind]}"] += 1
            assert child(life(Reaper(None), now)) == 0
        else:
            assert status == 0, status
            dies_at[kind] = 0  # it has no more steps: from the first again
    while _behind(url):
        now += RELAY_LEASE
        assert child(carry(url, folder, now, Reaper(None))) == 0
    print(json.dumps(killed))


def _behind(url: str) -> bool:
    async def look() -> int:
        store = Store(open_database(url), SEALS)
        async with store.reading() as tx:
            return (await tx.outbox.lag()).waiting

    return asyncio.run(look()) > 0


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
