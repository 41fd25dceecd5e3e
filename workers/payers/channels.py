"""The payers of PAYERS_FILE: their clients, the gateway over them, and how long a send may take."""

import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from bpmn.names import JobType
from domain.submission import Submission
from gateways.tiss.client import TissClient
from gateways.tiss.exchange import ExchangeListener
from gateways.tiss.gateway import NO_FILE, TissGateway
from gateways.tiss.lote import LoteRefusedError
from gateways.tiss.settings import PayerSettings, PayerSettingsError, read_payers
from gateways.tiss.trace import trace_into
from gateways.tiss.transport import open_line
from gateways.tiss.validation import Schemas
from persistence.encryption.cipher import Cipher
from persistence.store import Store, Transaction
from workers.config.settings import HandlerLimits, SettingsError
from workers.jobs.outage_tolerant import kept
from workers.runtime.handler import JobHandler

OWN_WORK = timedelta(seconds=15)  # database before and after the send
LOCK_MARGIN = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class PayerChannel:
    """One payer: what we know of it, who speaks with it, and who checks files for it.

    The checker has schemas of its own, because it works in a thread and validators keep state.
    """

    settings: PayerSettings
    client: TissClient
    checker: TissClient


@asynccontextmanager
async def open_channels(
    file: Path | None, trace: Path | None = None
) -> AsyncIterator[Mapping[str, PayerChannel]]:
    """A channel to each payer of the file, closed at the end; none without a file.

    What was said without persons goes into the folder `trace`.
    """
    payers = configured(file)
    async with AsyncExitStack() as stack:
        sending, checking = Schemas(), Schemas()
        channels = {}
        for name, payer in payers.items():
            with _named():
                line = await stack.enter_async_context(open_line(payer))
            client = TissClient(payer, line, sending, listener=_witness(trace, name))
            channels[name] = PayerChannel(payer, client, TissClient(payer, line, checking))
        yield channels


def configured(file: Path | None) -> Mapping[str, PayerSettings]:
    """The payers of the file; none without a file."""
    with _named():
        return read_payers(file, os.environ) if file else {}


def _witness(folder: Path | None, payer_id: str) -> ExchangeListener | None:
    try:
        return trace_into(folder, payer_id) if folder else None
    except OSError as error:
        raise SettingsError(f"PAYER_TRACE_DIR: {folder} cannot be made ({error.strerror}).") from error


@contextmanager
def _named() -> Iterator[None]:
    try:
        yield
    except PayerSettingsError as error:
        raise SettingsError(f"PAYERS_FILE: {error}") from error


def gateway_to(channels: Mapping[str, PayerChannel], store: Store) -> TissGateway:
    """Sends claims, and writes down what a payer has cancelled before anything else is sent."""

    async def undone(sent: Submission, now: datetime) -> None:
        await kept(lambda: store.run(lambda tx: _note_cancelled(tx, sent, now)))

    return TissGateway({name: channel.client for name, channel in channels.items()}, undone)


async def _note_cancelled(tx: Transaction, sent: Submission, now: datetime) -> None:
    await tx.attempts.undo(sent.claim_id, before=sent.attempt, now=now)
    done = "the payer has cancelled what it had of the earlier sends"
    await tx.journal.write(sent.claim_id, "cancelled_at_payer", done, now=now)


async def stored_file(store: Store, cipher: Cipher, claim_id: str) -> bytes:
    """A claim's file; one that is not there is a refusal like any other file that cannot be sent."""
    content = await store.look(lambda tx: tx.payloads.opened(claim_id, cipher))
    if content is None:
        raise LoteRefusedError(NO_FILE)
    return content


@dataclass(frozen=True, slots=True)
class Slowest:
    """The payer that may take longest for one send."""

    payer_id: str
    queue: float
    total: float
    calls: int

    @property
    def wait(self) -> timedelta:
        """For a free connection and for the answer, at every call of one send."""
        return timedelta(seconds=self.calls * (self.queue + self.total))


def slowest(channels: Mapping[str, PayerChannel]) -> Slowest | None:
    """The payer by whose time-outs a send must be allowed to run."""
    found = (_patience(name, channel.settings) for name, channel in channels.items())
    return max(found, key=lambda payer: payer.wait, default=None)


def _patience(name: str, payer: PayerSettings) -> Slowest:
    waits = payer.timeouts
    return Slowest(name, waits.queue, waits.total, calls=2 if payer.cancel_when_ambiguous else 1)


def outlasting(payer: Slowest | None, handler: JobHandler, limits: HandlerLimits) -> JobHandler:
    """The handler within its limits; a send may outlast the slowest payer, whatever the limits say."""
    if payer is None or handler.type != JobType.SUBMIT_CLAIM:
        return limits.applied_to(handler)
    needed = payer.wait + OWN_WORK
    time_limit = max(handler.time_limit, needed)
    lock = max(handler.lock, time_limit + LOCK_MARGIN)
    limited = limits.applied_to(replace(handler, lock=lock, time_limit=time_limit))
    if limited.time_limit < needed:
        raise SettingsError(
            f"HANDLER_LIMITS: {handler.type} may run {limited.time_limit.total_seconds():g} s, but payer "
            f"{payer.payer_id} may take {needed.total_seconds():g} s "
            f"(PAYERS_FILE: {payer.calls} x queue {payer.queue:g} s and total {payer.total:g} s, "
            f"{OWN_WORK.total_seconds():g} s for ourselves): "
            "raise time_limit_seconds, or lower the payer's timeouts."
        )
    return limited
