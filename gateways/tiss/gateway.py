"""The payers as the domain sees them: a claim in, an outcome out."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from domain.submission import Failed, SendOutcome, Submission
from gateways.tiss.client import Call, TissClient
from gateways.tiss.lote import LoteRefusedError, read_lote
from gateways.tiss.names import FaultWord
from gateways.tiss.outcomes import SubmissionOutcome, as_send_outcome

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
        outcome = await client.submit(lote, Call(sequence_of(submission), now))
        if self._listener:
            await self._listener(submission, outcome)
        return as_send_outcome(outcome)


def sequence_of(submission: Submission) -> str:
    """The transaction number of a send: twelve digits, the same for the same claim and attempt."""
    digest = hashlib.sha256(f"{submission.claim_id}\n{submission.attempt}".encode()).digest()
    return f"{int.from_bytes(digest[:8]) % 10**12:012d}"
