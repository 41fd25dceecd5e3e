"""The payers as the domain sees them: a claim in, what came of its send out."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from domain.own_words import OwnWords
from domain.submission import (
    DUPLICATE_CLAIM,
    AccessDenied,
    AnswerLost,
    Duplicate,
    Failed,
    OwnTrouble,
    SendResult,
    Submission,
)
from gateways.tiss.client import Call, TissClient, sequence_from
from gateways.tiss.faults import CANCELLING, failure
from gateways.tiss.lote import Lote, LoteRefusedError
from gateways.tiss.messages import Batch
from gateways.tiss.names import FaultWord
from gateways.tiss.outcomes import Cancellation, CancelOutcome, CancelStatus

Undone = Callable[[Submission, datetime], Awaitable[None]]
SendFence = Callable[[Submission, timedelta], Awaitable[bool]]
NO_FILE = (
    "No file is stored for this claim: hand it in with `reenvio claim submit`, "
    "or correct it through its review with --file."
)


async def _nobody(_submission: Submission, _now: datetime) -> None:
    """Is told nothing."""


async def _always(_submission: Submission, _takes: timedelta) -> bool:
    return True


class TissGateway:
    """Sends each claim to its payer; `undone` learns that the payer has cancelled what arrived before.

    `fence` is asked before each request whether the send is still ours for as long as the request may take.
    """

    def __init__(
        self, clients: Mapping[str, TissClient], undone: Undone = _nobody, fence: SendFence = _always
    ) -> None:
        self._clients = clients
        self._undone = undone
        self._fence = fence

    async def send(self, submission: Submission, now: datetime, /) -> SendResult:
        """Send once; batch, guides and content are the same at every attempt."""
        client = self._clients.get(submission.payer_id)
        if client is None:
            why = f"no settings for payer {submission.payer_id}: add [payers.{submission.payer_id}]"
            return _refused(f"CHANNEL_CONFIGURATION - {why}", FaultWord.WRONG_ADDRESSEE)
        try:
            lote = await _read(client, submission.content)
        except LoteRefusedError as error:
            return _refused(f"MESSAGE_INVALID - not sent: {error}", FaultWord.WRONG_SCHEMA)
        return await self._send(client, lote, submission, now)

    async def _send(
        self, client: TissClient, lote: Lote, submission: Submission, now: datetime
    ) -> SendResult:
        """Send a batch; one that may have arrived is cancelled first where the payer's settings want that."""
        may_leave = partial(self._fence, submission)
        cancelling = Call(sequence_of(submission, "cancel"), now, may_leave)
        answer = await _cancel(client, lote, submission, cancelling)
        match answer:
            case Failed(refused=False) | AnswerLost() | AccessDenied() | OwnTrouble():
                return answer
            case Cancellation(CancelStatus.IN_PROGRESS):
                return failure(CANCELLING)  # a batch sent now could be cancelled with the first
            case Cancellation(CancelStatus.CANCELLED):
                await self._undone(submission, now)
                submission = replace(submission, after_cancellation=True)
        result = await client.submit(lote, Call(sequence_of(submission), now, may_leave))
        if isinstance(result, Duplicate) and submission.after_cancellation:
            return _spent(result)
        return result


def _refused(error: str, word: FaultWord) -> Failed:
    return Failed(OwnWords(error), f"FAULT:{word}", refused=True)


async def _read(client: TissClient, content: bytes | None) -> Lote:
    if content is None:
        raise LoteRefusedError(NO_FILE)
    return await client.read(content)


def _spent(known: Duplicate) -> Failed:
    """Not "it arrived": that send is undone, and the payer takes its number no more."""
    what = "its number" if known.of == "batch" else "one of its guides"
    why = f"the batch was cancelled after its answer was lost, and the payer refuses {what}"
    return Failed(OwnWords(f"{DUPLICATE_CLAIM} - {why}: give it a new one"), known.code, refused=True)


async def _cancel(client: TissClient, lote: Lote, submission: Submission, call: Call) -> CancelOutcome | None:
    provider = client.provider_of(lote)
    if provider is None or not (submission.after_lost_answer and client.cancels_when_ambiguous):
        return None
    return await client.cancel(provider, Batch(lote.number), call)


def sequence_of(submission: Submission, what: str = "send") -> str:
    """The transaction number of a call: the same for the same claim and attempt."""
    return sequence_from(submission.claim_id, submission.attempt, what)
