"""Speaks with one payer: sends batches, follows protocols, cancels; large documents keep nobody waiting."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar
from zoneinfo import ZoneInfo

from lxml import etree

from domain.digits import digits_from
from domain.own_words import OwnWords
from domain.submission import Accepted, Failed, OwnTrouble, SendResult
from gateways.tiss.exchange import ExchangeListener, seen
from gateways.tiss.judgement import Reply, judge_cancel, judge_status, judge_submission
from gateways.tiss.lote import Lote, read_lote
from gateways.tiss.messages import (
    Batch,
    MessageHeader,
    cancel_message,
    envelope,
    lote_message,
    seal,
    status_message,
)
from gateways.tiss.names import TransactionKind
from gateways.tiss.outcomes import CancelOutcome, StatusOutcome
from gateways.tiss.parties import Payer, Provider
from gateways.tiss.payer_text import payer_text
from gateways.tiss.settings import PayerSettings
from gateways.tiss.transport import Asking, MayLeave, Request, at_any_time
from gateways.tiss.validation import Schemas, Violation, listed, unwritable

_NOT_SENT = "FAULT:SchemaInvalido"
_SEQUENCE_DIGITS = 12
T = TypeVar("T")


def sequence_from(*parts: object) -> str:
    """A transaction number: twelve digits, the same for the same parts."""
    return digits_from("\n".join(map(str, parts)), _SEQUENCE_DIGITS)


@dataclass(frozen=True, slots=True)
class Call:
    """What makes one call its own: a number of up to 12 characters, and the moment.

    `may_leave` is asked last of all before the request leaves.
    """

    sequence: str
    now: datetime
    may_leave: MayLeave = at_any_time


@dataclass(frozen=True, slots=True)
class _Written:
    message: etree._Element
    data: bytes


class TissClient:
    """One payer's channel; never raises for what payers and networks do.

    What takes as long as a document is large is done in `threads`, or in the event loop's own where none
    are given.
    """

    def __init__(
        self,
        payer: PayerSettings,
        line: Asking,
        schemas: Schemas,
        *,
        listener: ExchangeListener | None = None,
        threads: Executor | None = None,
    ) -> None:
        """`listener` gets every exchange, with nothing personal left in it."""
        self._payer = payer
        self._line = line
        self._schemas = schemas
        self._listener = listener
        self._threads = threads

    @property
    def cancels_when_ambiguous(self) -> bool:
        """Whether a batch whose answer was lost is cancelled before it is sent again."""
        return self._payer.cancel_when_ambiguous

    def provider_of(self, lote: Lote) -> Provider | None:
        """Who sends the batch: as the payer's settings say, or else as its file does."""
        return self._payer.own_provider or lote.provider

    async def read(self, content: bytes) -> Lote:
        """The batch in a file."""
        return await self._beside(lambda: read_lote(content))

    async def submit(self, lote: Lote, call: Call) -> SendResult:
        """Send a batch once; what the schema refuses never leaves."""
        if lote.registro_ans not in (None, self._payer.registro_ans):
            return _not_sent(f"the file is for another payer than {self._payer.registro_ans}")
        provider = self.provider_of(lote)
        if provider is None:
            return _not_sent("neither the file nor the payer's settings name the provider")
        header = self._header(TransactionKind.SEND_BATCH, provider, call)
        ascii_text, trust = self._payer.ascii_text, self._payer.answer_hash
        reply = await self._ask(
            self._payer.endpoint, lambda: lote_message(header, lote, ascii_text=ascii_text), call
        )
        if isinstance(reply, Failed):
            return reply
        return await self._beside(lambda: _with_words(judge_submission(reply, lote, trust), reply))

    async def status(self, provider: Provider, protocol: str, call: Call) -> StatusOutcome:
        """Ask what became of a protocol."""
        header = self._header(TransactionKind.ASK_STATUS, provider, call)
        url = self._payer.status_endpoint or self._payer.endpoint
        reply = await self._ask(url, lambda: status_message(header, provider, protocol), call)
        if isinstance(reply, Failed):
            return reply
        return await self._beside(lambda: judge_status(reply, protocol))

    async def cancel(self, provider: Provider, batch: Batch, call: Call) -> CancelOutcome:
        """Cancel a batch: it undoes a good send, so only where the payer's settings want it."""
        header = self._header(TransactionKind.CANCEL, provider, call)
        url = self._payer.cancel_endpoint or self._payer.endpoint
        reply = await self._ask(url, lambda: cancel_message(header, provider, batch), call)
        if isinstance(reply, Failed):
            return reply
        return await self._beside(lambda: judge_cancel(reply, batch.number))

    def check(self, lote: Lote, call: Call) -> tuple[Violation, ...]:
        """What the schema has against a batch, without sending it."""
        provider = self.provider_of(lote) or Provider("codigoPrestadorNaOperadora", "")
        header = self._header(TransactionKind.SEND_BATCH, provider, call)
        return self._violations(lote_message(header, lote, ascii_text=self._payer.ascii_text))

    def _header(self, transaction: TransactionKind, provider: Provider, call: Call) -> MessageHeader:
        return MessageHeader(
            transaction=transaction,
            sequence=call.sequence,
            at=call.now.astimezone(ZoneInfo(self._payer.zone)),
            sender=provider,
            receiver=Payer(self._payer.registro_ans),
            version=self._payer.version,
            login=self._payer.account,
        )

    def _violations(self, message: etree._Element) -> tuple[Violation, ...]:
        """Seals the message if its texts can be written, and checks it whole."""
        narrow = "iso-8859-1" in (self._payer.encoding, self._payer.hash_encoding)
        if found := unwritable(message, "iso-8859-1" if narrow else "utf-8"):
            return found
        seal(message, self._payer.hash_encoding)
        return self._schemas.violations(message, self._payer.version)

    def _written(self, message: etree._Element) -> _Written | Failed:
        if violations := self._violations(message):
            return _not_sent(listed(violations))
        return _Written(message, envelope(message, self._payer.encoding))

    async def _ask(self, url: str, build: Callable[[], etree._Element], call: Call) -> Reply | Failed:
        """Build a message, check it, send it; what the schema refuses has failed before it left."""
        written = await self._beside(lambda: self._written(build()))
        if isinstance(written, Failed):
            return written
        reply = await self._line.ask(Request(url, written.data, call.now, call.may_leave))
        if tell := self._listener:
            await self._beside(lambda: tell(seen(written.message, reply, call.sequence, call.now)))
        return reply

    async def _beside(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _with_words(result: SendResult, reply: Reply) -> SendResult:
    if isinstance(result, Accepted | OwnTrouble):
        return result
    return replace(result, said=payer_text(reply))


def _not_sent(why: str) -> Failed:
    return Failed(OwnWords(f"MESSAGE_INVALID - not sent: {why}"), _NOT_SENT, refused=True)
