"""The fence before a payer: a request leaves only while its send is still the worker's own.

A worker may stand still for longer than its lease, between the beginning of a send and its first byte, and
all the clocks of its machine with it: then another has the claim. So the database is asked last of all, also
for its time.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from domain.errors import Trouble
from domain.permission import leaving_barred
from domain.ports import Clock
from domain.submission import Submission
from persistence.clock import DatabaseClock
from persistence.store import Store, Transaction

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Fence:
    """Looks once before each request; `clock` is the one that leases are counted by."""

    store: Store
    clock: Clock

    async def __call__(self, sent: Submission, takes: timedelta) -> bool:
        """Whether a request of the send may leave that may take so long; not while nobody can tell."""
        try:
            barred = await self.store.look(lambda tx: self._barred(tx, sent, takes))
        except Trouble as trouble:
            barred = f"nobody can tell: {trouble}"
        if barred:
            log.warning("send_fenced", claim=sent.claim_id, send=sent.attempt, why=barred)
        return barred is None

    async def _barred(self, tx: Transaction, sent: Submission, takes: timedelta) -> str | None:
        found = await tx.begun_sends.find(sent.claim_id, sent.attempt)
        return leaving_barred(found, await self._now(tx), takes)

    async def _now(self, tx: Transaction) -> datetime:
        """The database's time as it says now: one that was counted on may have stood still."""
        return await tx.time() if isinstance(self.clock, DatabaseClock) else await self.clock.now()
