"""The payers of PAYERS_FILE: their clients, and the gateway over them."""

from collections.abc import AsyncIterator, Callable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Barrier

from domain.ports import Clock
from domain.submission import Submission
from gateways.tiss.client import TissClient
from gateways.tiss.exchange import ExchangeListener, trace_into
from gateways.tiss.gateway import TissGateway
from gateways.tiss.glosas import tabela38
from gateways.tiss.names import Version
from gateways.tiss.settings import PayerSettings
from gateways.tiss.transport import Asking, NoLine, open_line
from gateways.tiss.validation import Schemas
from persistence.store import Store
from workers.config.settings import SettingsError
from workers.payers.cancelled import note_cancelled
from workers.payers.fence import Fence
from workers.payers.file import NO_SECRETS, configured, payers_file_named

THREADS = 2
"""For what takes as long as a document is large: as many of them are worked on at once."""
WatchedLine = Callable[[Asking, str], Asking]


def unwatched_line(line: Asking, _payer_id: str) -> Asking:
    """Watched by nobody."""
    return line


@dataclass(frozen=True, slots=True)
class PayerChannel:
    """One payer: what we know of it, and who speaks with it and checks files for it."""

    settings: PayerSettings
    client: TissClient


@asynccontextmanager
async def open_channels(
    file: Path | None,
    trace: Path | None = None,
    *,
    environment: Mapping[str, str] = NO_SECRETS,
    watched: WatchedLine = unwatched_line,
) -> AsyncIterator[Mapping[str, PayerChannel]]:
    """A channel to each payer of the file, closed at the end; none without a file.

    What was said without persons goes into the folder `trace`; secrets come from the `environment`.
    `watched` is given each line and the payer that it leads to.
    """
    payers = configured(file, environment)
    async with AsyncExitStack() as stack:
        schemas, channels = Schemas(), {}
        threads = stack.enter_context(_started_threads(schemas, {payer.version for payer in payers.values()}))
        for name, payer in payers.items():
            with payers_file_named():
                line = await stack.enter_async_context(open_line(payer))
            asking, tracer = watched(line, name), _tracer(trace, name)
            client = TissClient(payer, asking, schemas, listener=tracer, threads=threads)
            channels[name] = PayerChannel(payer, client)
        yield channels


def checking_channels(
    file: Path | None, environment: Mapping[str, str] = NO_SECRETS
) -> Mapping[str, PayerChannel]:
    """The payers of the file for who only checks files for them: no line leads there."""
    schemas = Schemas()
    payers = configured(file, environment)
    return {name: PayerChannel(payer, TissClient(payer, NoLine(), schemas)) for name, payer in payers.items()}


def _started_threads(schemas: Schemas, versions: Set[Version]) -> ThreadPoolExecutor:
    """Started now, with all they read from files: what fails later could lose an answer that has come."""
    threads, all_there = ThreadPoolExecutor(THREADS, thread_name_prefix="tiss"), Barrier(THREADS)

    def start(_number: int) -> None:
        all_there.wait()
        schemas.load(versions)
        tabela38()

    list(threads.map(start, range(THREADS)))
    return threads


def _tracer(folder: Path | None, payer_id: str) -> ExchangeListener | None:
    try:
        return trace_into(folder, payer_id) if folder else None
    except OSError as error:
        raise SettingsError(f"PAYER_TRACE_DIR: {folder} cannot be made ({error.strerror}).") from error


def gateway_to(channels: Mapping[str, PayerChannel], store: Store, clock: Clock) -> TissGateway:
    """Sends claims behind a fence, and writes down what a payer has cancelled before the next request."""

    async def undone(sent: Submission, now: datetime) -> None:
        await store.run_until_written(lambda tx: note_cancelled(tx, sent, now))

    clients = {name: channel.client for name, channel in channels.items()}
    return TissGateway(clients, undone, Fence(store, clock))
