"""The fence before a payer: a request leaves only while its send is still the worker's own.

A worker may stand still for longer than its lease, between the beginning of a send and its first byte, and
all the clocks of its machine with it: then another has the claim. So the database is asked last of all, also
for its time. Requests that are about to leave at the same moment are asked about together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from domain.errors import Trouble
from domain.permission import leaving_barred
from domain.ports import Clock
from domain.submission import Submission
from persistence.clock import asked_now
from persistence.database.group_commit import GroupCommit
from persistence.store import Store, Transaction

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Leaving:
    """A request that is about to leave, and how long it may take."""

    sent: Submission
    takes: timedelta


class Fence:
    """Looks once before each request; `clock` is the one that leases are counted by."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._looks = GroupCommit[_Leaving, str | None](self._look, key=lambda one: one.sent.claim_id)

    async def __call__(self, sent: Submission, takes: timedelta) -> bool:
        """Whether a request of the send may leave that may take so long; not while nobody can tell."""
        try:
            barred = await self._looks.add(_Leaving(sent, takes))
        except Trouble as trouble:
            barred = f"nobody can tell: {trouble}"
        if barred:
            log.warning("send_fenced", claim=sent.claim_id, send=sent.attempt, why=barred)
        return barred is None

    async def _look(self, leaving: Sequence[_Leaving]) -> Sequence[str | None]:
        return await self._store.look(lambda tx: self._barred(tx, leaving))

    async def _barred(self, tx: Transaction, leaving: Sequence[_Leaving]) -> Sequence[str | None]:
        found = await tx.begun_sends.find_all({one.sent.claim_id: one.sent.attempt for one in leaving})
        now = await asked_now(self._clock, tx)
        return [leaving_barred(found.get(one.sent.claim_id), now, one.takes) for one in leaving]
