"""The payers as the domain sees them: a claim in, an outcome out."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from domain.submission import DUPLICATE_CLAIM, Failed, SendOutcome, Submission
from gateways.tiss.client import Call, TissClient, sequence_from
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

Payload = Callable[[str], Awaitable[bytes]]
Listener = Callable[[Submission, SubmissionOutcome], Awaitable[None]]


class TissGateway:
    """Sends each claim to its payer; `payload` gives a claim's file, `listener` hears the full outcome."""

    def __init__(
        self, clients: Mapping[str, TissClient], payload: Payload, listener: Listener | None = None
    ) -> None:
        self._clients = clients
        self._payload = payload
        self._listener = listener

    async def send(self, submission: Submission, now: datetime, /) -> SendOutcome:
        """Send once; batch, guides and content are the same at every attempt."""
        client = self._clients.get(submission.payer_id)
        if client is None:
            why = f"no settings for payer {submission.payer_id}: add [payers.{submission.payer_id}]"
            return Failed(f"CHANNEL_CONFIGURATION - {why}", f"FAULT:{FaultWord.WRONG_ADDRESSEE}")
        try:
            lote = read_lote(await self._payload(submission.claim_id))
        except LoteRefusedError as error:
            return Failed(f"MESSAGE_INVALID - not sent: {error}", f"FAULT:{FaultWord.WRONG_SCHEMA}")
        outcome = await _send(client, lote, submission, now)
        if self._listener:
            await self._listener(submission, outcome)
        return as_send_outcome(outcome)


async def _send(client: TissClient, lote: Lote, submission: Submission, now: datetime) -> SubmissionOutcome:
    """Send a batch; one that may have arrived is cancelled first where the payer's settings want that."""
    undone = await _undo(client, lote, submission, now)
    if isinstance(undone, Transient | PayerDown | Ambiguous | AccessDenied):
        return undone
    outcome = await client.submit(lote, Call(sequence_of(submission), now))
    if isinstance(outcome, KnownAlready) and undone == Cancellation(CancelStatus.CANCELLED, lote.number):
        # not "it arrived": that send is undone, and the number is spent
        why = "the batch was cancelled after its answer was lost, and the payer refuses its number"
        return Refused(outcome.code, f"{DUPLICATE_CLAIM} - {why}: give it a new one")
    return outcome


async def _undo(
    client: TissClient, lote: Lote, submission: Submission, now: datetime
) -> CancelOutcome | None:
    provider = client.provider_of(lote)
    if provider is None or not (submission.after_lost_answer and client.cancels_when_ambiguous):
        return None
    return await client.cancel(provider, Batch(lote.number), Call(sequence_of(submission, "cancel"), now))


def sequence_of(submission: Submission, what: str = "send") -> str:
    """The transaction number of a call: the same for the same claim and attempt."""
    return sequence_from(submission.claim_id, submission.attempt, what)
