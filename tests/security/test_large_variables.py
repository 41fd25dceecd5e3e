"""A job's variables and headers, however large, keep the event loop from nothing else."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from pyzeebe.proto.gateway_pb2 import ActivatedJob, ActivateJobsResponse

from persistence.encryption.keys import cipher_of, new_key
from persistence.store import Store
from tests.support import job_samples
from tests.support.effort import watching_loop
from tests.support.services import services
from workers.jobs import all_handlers
from workers.runtime import Complete, Incident, Job, JobHandler, Outcome
from workers.runtime.executor import run_handler
from workers.runtime.health import Heartbeat
from workers.runtime.job_reading import JSON_MAX, is_large, read_job
from workers.runtime.job_source import JobSource
from workers.runtime.load import Load
from workers.runtime.options import WorkerOptions

BLOCKED = 0.1
TRIES = 3
ENGINES_LIMIT = 3_900_000
UNITS = ("[]", '{"a":{}}', "1", '""', "1.5e300")
TEXTS = ("x", "ab ", "\u200bé ", "1 ", "a\n", "<cpf>", "\u200b", "CPF 529.982.247-25; ")
GOOD = job_samples.VARIABLES | {"retryCount": 1}
on_sqlite = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)


def many(unit: str, size: int) -> str:
    return f'{{"submissionError": [{",".join([unit] * (size // (len(unit) + 1)))}]}}'


def repeated(text: str, size: int) -> str:
    return text * (size // len(text))


@pytest.mark.parametrize("unit", UNITS)
def test_what_is_larger_than_the_limit_is_the_jobs_fault_and_is_not_parsed(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, read, loads = many(unit, ENGINES_LIMIT), list[int](), json.loads

    def reading(text: str) -> object:
        read.append(len(text))
        return loads(text)

    monkeypatch.setattr(json, "loads", reading)
    for given in (ActivatedJob(variables=large), ActivatedJob(customHeaders=large)):
        assert f"at most {JSON_MAX:,} are read" in str(read_job(given).fault)
    assert max(read, default=0) <= JSON_MAX


def test_the_longest_error_that_is_kept_fits_the_limit_in_any_spelling() -> None:
    variables = json.dumps(GOOD | {"submissionError": "\u00e3" * 16_384})
    assert read_job(ActivatedJob(key=1, type="x", variables=variables)).fault is None


async def longest_step(handler: JobHandler, job: Job) -> float:
    """What the job costs the loop at one time; a collection of garbage in one try is not its own."""
    longest = []
    for _ in range(TRIES):
        async with watching_loop() as steps:
            await run_handler(handler, job)
        longest.append(steps.longest)
        if steps.longest < BLOCKED:
            break
    return min(longest)


@pytest.mark.parametrize("size", [JSON_MAX - 1_000, ENGINES_LIMIT], ids=["allowed", "the engine's limit"])
@on_sqlite
async def test_no_text_in_any_variable_keeps_the_loop_from_its_turn(store: Store, size: int) -> None:
    handlers = all_handlers(services(store, cipher=cipher_of(new_key("k1"))))
    slow = []
    for handler in handlers:
        for name in handler.variables:
            for text in TEXTS:
                given = GOOD | {name: repeated(text, size)}
                job = Job(1, handler.type, "Task", 1, 3, job_samples.HEADERS.get(handler.type, {}), given)
                outcome = await run_handler(handler, job)
                assert size < JSON_MAX or (isinstance(outcome, Incident) and name in outcome.message)
                if await longest_step(handler, job) >= BLOCKED:
                    slow.append((handler.type, str(name), text))
    assert not slow


def test_a_large_job_is_told_from_a_small_one() -> None:
    small = ActivatedJob(variables=json.dumps(GOOD))
    large = ActivatedJob(variables=many("[]", JSON_MAX - 1_000))
    assert (is_large(small), is_large(large)) == (False, True)


class OnePage:
    """A gateway that answers a poll with many jobs at once, then has none."""

    def __init__(self, jobs: list[ActivatedJob]) -> None:
        self.answer = ActivateJobsResponse(jobs=jobs)

    async def activate(self, _request: object, _seconds: float) -> AsyncIterator[ActivateJobsResponse]:
        yield self.answer
        await asyncio.Event().wait()


async def test_large_jobs_of_one_answer_are_read_one_per_turn() -> None:
    jobs = [ActivatedJob(key=key, variables=many("[]", 20_000)) for key in range(1, 11)]
    turns, taken_in = [0], list[int]()

    async def done(_job: Job) -> Outcome:
        return Complete()

    async def turning() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    gateway: Any = OnePage(jobs)
    taking: Any = SimpleNamespace(
        handler=JobHandler("x", (), done), load=Load(32), take=lambda _job: taken_in.append(turns[0])
    )
    source = JobSource(gateway, taking, WorkerOptions("w", random.Random(1)))
    tasks = [asyncio.create_task(turning()), asyncio.create_task(source.poll(Heartbeat()))]
    async with asyncio.timeout(20):
        while len(taken_in) < len(jobs):
            await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert len(set(taken_in)) == len(jobs)
