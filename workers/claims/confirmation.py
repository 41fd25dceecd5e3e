"""Whether a claim's process took what it was told: the engine only keeps it, the claim's record shows it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from domain.claim_state import ClaimState
from domain.errors import Trouble
from persistence.repositories.claims import ClaimRow
from persistence.repositories.incidents import StuckJob
from persistence.store import Store

CONFIRMED_WITHIN = timedelta(seconds=10)
AT_REST_WITHIN = timedelta(seconds=3)
LOOK_SECONDS = 0.2


class Unfinished(Trouble):
    """The process was told, and what was asked for has not come about yet."""


class GotStuck(Unfinished):
    """The process was told, and stands on an incident now."""

    def __init__(self, claim: ClaimRow, stuck: StuckJob) -> None:
        super().__init__(
            f"{claim.claim_id} is {claim.state}: its process was told, and stands on an incident since "
            f"{stuck.since.isoformat(timespec='seconds')}: {stuck.message} {way_on(claim.claim_id)}"
        )


class NotConfirmed(Unfinished):
    """Nobody has told yet whether the process took it."""

    exit_code = 3

    def __init__(self, claim_id: str, kept: timedelta) -> None:
        looked, keeps = (f"{time.total_seconds():g} s" for time in (CONFIRMED_WITHIN, kept))
        super().__init__(
            f"{claim_id}: not known yet. The engine keeps what you asked for {keeps}, and no worker has told "
            f"within {looked} that the claim went on. See `reenvio claim show {claim_id}` in a moment, that "
            "a worker runs, and in Operate whether its process stands on an incident."
        )


Done = Callable[[ClaimRow], bool]


async def confirmed(
    store: Store, before: ClaimRow, *, kept: timedelta, done: Done = lambda _: True, patient: bool = True
) -> ClaimRow:
    """The claim once a job of its process has moved it on, to what counts as done.

    One that is under way then is looked at for a little longer, with patience: its next job may get stuck at
    once.
    """
    try:
        moved = await _seen(store, before, done, CONFIRMED_WITHIN)
    except TimeoutError as error:
        raise NotConfirmed(before.claim_id, kept) from error
    if patient:
        with suppress(TimeoutError):
            moved = await _seen(store, before, _rests, AT_REST_WITHIN)
    if moved.incident not in (None, before.incident):
        raise GotStuck(moved, moved.incident)
    return moved


def way_on(claim_id: str) -> str:
    """What a person may do about a claim that stands on an incident."""
    mended = f"When that is mended, `reenvio claim resolve {claim_id}`"
    return f"{mended}; or end it with `reenvio claim cancel {claim_id}`."


async def _seen(store: Store, before: ClaimRow, done: Done, within: timedelta) -> ClaimRow:
    async with asyncio.timeout(within.total_seconds()):
        while True:
            moved = await _moved(store, before)
            if moved and (moved.incident not in (None, before.incident) or done(moved)):
                return moved
            await asyncio.sleep(LOOK_SECONDS)


def _rests(claim: ClaimRow) -> bool:
    return claim.state not in (ClaimState.SUBMITTING, ClaimState.FAILED)


async def _moved(store: Store, before: ClaimRow) -> ClaimRow | None:
    """The claim if a job has written to it since, or got stuck; a cleared incident alone is no sign."""
    claim = await store.look(lambda tx: tx.claims.find(before.claim_id))
    if claim is None:
        return None
    is_stuck = claim.incident not in (None, before.incident)
    return claim if is_stuck or claim.updated_at != before.updated_at else None
