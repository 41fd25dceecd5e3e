"""Whether a claim's process took what it was told: the engine only keeps it, the claim's record shows it."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from domain.errors import Trouble
from persistence.repositories.claims import ClaimRow
from persistence.store import Store

CONFIRMED_WITHIN = timedelta(seconds=10)
LOOK_SECONDS = 0.2


class NotConfirmed(Trouble):  # it may still come about
    """Nobody has told yet whether the process took it."""

    exit_code = 3

    def __init__(self, claim_id: str, kept: timedelta) -> None:
        looked, keeps = (f"{time.total_seconds():g} s" for time in (CONFIRMED_WITHIN, kept))
        super().__init__(
            f"{claim_id}: not known yet. The engine keeps what you asked for {keeps}, and no worker has told "
            f"within {looked} that the claim went on. See `reenvio claim show {claim_id}` in a moment, that "
            "a worker runs, and in Operate whether its process stands on an incident."
        )


async def confirmed(
    store: Store, before: ClaimRow, *, kept: timedelta, done: Callable[[ClaimRow], bool] = lambda _: True
) -> ClaimRow:
    """The claim once a job of its process has moved it on, to what counts as done."""
    try:
        async with asyncio.timeout(CONFIRMED_WITHIN.total_seconds()):
            while True:
                if (moved := await _moved(store, before)) and done(moved):
                    return moved
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError as error:
        raise NotConfirmed(before.claim_id, kept) from error


async def _moved(store: Store, before: ClaimRow) -> ClaimRow | None:
    """The claim if a job has written to it since, or got stuck; a cleared incident alone is no sign."""
    claim = await store.look(lambda tx: tx.claims.find(before.claim_id))
    if claim is None:
        return None
    is_stuck = claim.incident not in (None, before.incident)
    return claim if is_stuck or claim.updated_at != before.updated_at else None
