"""The payers as the domain sees them: a claim in, an outcome out."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from domain.submission import DUPLICATE_CLAIM, Failed, SendOutcome, Submission
from gateways.tiss.client import Call, TissClient, sequence_from
from gateways.tiss.faults import CANCELLING, failure
from gateways.tiss.lote import Lote, LoteRefusedError, read_lote
from gateways.tiss.messages import Batch
from gateways.tiss.names import FaultWord
from gateways.tiss.outcomes import (
    AccessDenied,
    Ambiguous,
    Cancellation,
    CancelOutcome,
    CancelStatus,
    KnownAlready,
    PayerDown,
    Refused,
    SubmissionOutcome,
    Transient,
    as_send_outcome,
)

Listener = Callable[[Submission, SubmissionOutcome], Awaitable[None]]
Undone = Callable[[Submission, datetime], Awaitable[None]]
NO_FILE = (
    "No file is stored for this claim: hand it in with `reenvio claim submit`, "
    "or correct it through its review with --file."
)


async def _nobody(_submission: Submission, _what: object) -> None:
    """Hears nothing."""


class TissGateway:
    """Sends each claim to its payer.

    `undone` hears that the payer has cancelled what arrived before, `listener` the full outcome.
    """

    def __init__(
        self, clients: Mapping[str, TissClient], undone: Undone = _nobody, listener: Listener = _nobody
    ) -> None:
        self._clients = clients
        self._undone = undone
        self._listener = listener

    async def send(self, submission: Submission, now: datetime, /) -> SendOutcome:
        """Send once; batch, guides and content are the same at every attempt."""
        client = self._clients.get(submission.payer_id)
        if client is None:
            why = f"no settings for payer {submission.payer_id}: add [payers.{submission.payer_id}]"
            return Failed(f"CHANNEL_CONFIGURATION - {why}", f"FAULT:{FaultWord.WRONG_ADDRESSEE}")
        try:
            lote = _read(submission.content)
        except LoteRefusedError as error:
            return Failed(f"MESSAGE_INVALID - not sent: {error}", f"FAULT:{FaultWord.WRONG_SCHEMA}")
        outcome = await self._send(client, lote, submission, now)
        await self._listener(submission, outcome)
        return as_send_outcome(outcome)

    async def _send(
        self, client: TissClient, lote: Lote, submission: Submission, now: datetime
    ) -> SubmissionOutcome:
        """Send a batch; one that may have arrived is cancelled first where the payer's settings want that."""
        answer = await _cancel(client, lote, submission, now)
        if isinstance(answer, Transient | PayerDown | Ambiguous | AccessDenied):
            return answer
        if answer == Cancellation(CancelStatus.IN_PROGRESS, lote.number):
            return failure(CANCELLING)  # a batch sent now could be cancelled with the first
        undone = answer == Cancellation(CancelStatus.CANCELLED, lote.number)
        if undone:
            await self._undone(submission, now)
        outcome = await client.submit(lote, Call(sequence_of(submission), now))
        if isinstance(outcome, KnownAlready) and (undone or submission.after_cancellation):
            return _spent(outcome)
        return outcome


def _read(content: bytes | None) -> Lote:
    if content is None:
        raise LoteRefusedError(NO_FILE)
    return read_lote(content)


def _spent(known: KnownAlready) -> Refused:
    """Not "it arrived": that send is undone, and the payer takes its number no more."""
    why = "the batch was cancelled after its answer was lost, and the payer refuses its number"
    return Refused(known.code, f"{DUPLICATE_CLAIM} - {why}: give it a new one")


async def _cancel(
    client: TissClient, lote: Lote, submission: Submission, now: datetime
) -> CancelOutcome | None:
    provider = client.provider_of(lote)
    if provider is None or not (submission.after_lost_answer and client.cancels_when_ambiguous):
        return None
    return await client.cancel(provider, Batch(lote.number), Call(sequence_of(submission, "cancel"), now))


def sequence_of(submission: Submission, what: str = "send") -> str:
    """The transaction number of a call: the same for the same claim and attempt."""
    return sequence_from(submission.claim_id, submission.attempt, what)
