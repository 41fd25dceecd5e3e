"""A handler: the job type, what it reads, what it does, and its limits."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from workers.runtime.job import Job
from workers.runtime.outcome import Incident, Outcome

REPORT_TIME = timedelta(seconds=10)


def nothing_to_say(_job: Job) -> None:
    """A handler whose time was over has no answer of its own."""


async def nobody_is_told(_job: Job, _message: str) -> None:
    """An incident that the engine alone keeps."""


async def nobody_notes(_job: Job, _backoff: timedelta) -> None:
    """A backoff that the engine alone keeps."""


async def nothing_is_left() -> None:
    """A handler whose jobs leave nothing behind that goes on without them."""


def nothing_to_stop() -> None:
    """A handler whose jobs go on as they are while the worker stops."""


def in_no_block(_job: Job) -> AbstractContextManager[object]:
    """A job that runs in nobody's block."""
    return nullcontext()


@dataclass(frozen=True, slots=True)
class JobHandler:
    """One job type: the variables it fetches, the coroutine, and how much it may take on.

    A handler that may run longer than its lock has the lock extended while it runs. One that was cut short by
    its time limit is asked for its answer once more, as `late`; without one it has failed. `on_incident` is
    told before the engine is that the job's process will stand still, `on_backoff` that it comes again after
    a while; what they raise is only logged. One
    that is `never_cut_short` has all its time also while the worker stops. A job runs, and is reported, in
    the block that is `around` it. `stopping` is called when the worker begins to stop, for jobs that have
    begun and could still be given back; `finish` waits for what its jobs have begun and do not wait for any
    more.
    """

    type: str
    variables: tuple[str, ...]
    handle: Callable[[Job], Awaitable[Outcome]]
    lock: timedelta = timedelta(seconds=60)
    time_limit: timedelta = timedelta(seconds=30)
    at_once: int = 32
    late: Callable[[Job], Outcome | None] = nothing_to_say
    on_incident: Callable[[Job, str], Awaitable[None]] = nobody_is_told
    on_backoff: Callable[[Job, timedelta], Awaitable[None]] = nobody_notes
    never_cut_short: bool = False
    around: Callable[[Job], AbstractContextManager[object]] = in_no_block
    stopping: Callable[[], None] = nothing_to_stop
    finish: Callable[[], Awaitable[None]] = nothing_is_left

    def drain(self, usual: timedelta) -> timedelta:
        """How long a stopping worker waits for its jobs that have begun."""
        return max(usual, self.time_limit + REPORT_TIME) if self.never_cut_short else usual


def blocking(work: Callable[[Job], Outcome], *, threads: int) -> Callable[[Job], Awaitable[Outcome]]:
    """A coroutine for code that blocks: it runs in threads of its own, with the caller's context."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix=work.__name__)

    async def handle(job: Job) -> Outcome:
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(pool, context.run, work, job)

    return handle


class JobInput(BaseModel):
    """Base of typed inputs: camelCase in the process, snake_case here, nothing coerced."""

    model_config = ConfigDict(alias_generator=to_camel, frozen=True, strict=True)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The process variables to fetch."""
        return tuple(to_camel(name) for name in cls.model_fields)


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must hold no control characters")
    return text


ShortText = Annotated[str, Field(max_length=64), AfterValidator(_printable)]
"""A name or a number that is kept in a column of its own."""
ClaimText = Annotated[str, Field(max_length=128), AfterValidator(_printable)]
"""A claim's id, as far as its column goes."""
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""A number that fits its column."""
RowId = Annotated[int, Field(ge=1, le=2**63 - 1)]
"""The number of a row of ours."""
InputT = TypeVar("InputT", bound=JobInput)


def typed(
    model: type[InputT], handle: Callable[[Job, InputT], Awaitable[Outcome]]
) -> Callable[[Job], Awaitable[Outcome]]:
    """Read the typed input first; a variable that does not fit becomes an incident that names it."""

    async def read_then_handle(job: Job) -> Outcome:
        try:
            given = model.model_validate(job.variables)
        except ValidationError as refused:
            return Incident(_advice(job, refused))
        return await handle(job, given)

    return read_then_handle


def _advice(job: Job, refused: ValidationError) -> str:
    faults = "; ".join(
        f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in refused.errors(include_input=False)
    )
    return f"{job.type}: process variables do not fit ({faults}). Correct them in Operate, then retry."
