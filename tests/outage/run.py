"""One way through the outage in fast motion: engine time jumps to where something is due."""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import TypeVar

from domain.claim_state import ClaimState
from domain.payer_status import PayerStatus
from gateways.zeebe import engine
from persistence.database.trouble import DatabaseError
from persistence.repositories.claims import ClaimRow
from persistence.store import Transaction
from tests.outage.figures import Figures, figures
from tests.outage.plan import Plan
from tests.outage.world import World, world
from tests.support.tiss_samples import PAYER, file_bytes, file_text
from workers.claims.examination import ClaimFile

COARSE_STEP, FINE_STEP, LONGEST_STEP = timedelta(minutes=1), timedelta(seconds=5), timedelta(minutes=5)
PROBE_OVERDUE = timedelta(minutes=6)
LOOKED_AT_FINELY = timedelta(minutes=30)  # after the recovery, when a herd would come
LOOK_SECONDS = 0.05
HELP_SECONDS, PATIENCE_SECONDS = 3.0, 300.0
NAMED = 3
MINUTE = timedelta(minutes=1)
RESTING = frozenset({ClaimState.WAITING, ClaimState.IN_REVIEW, ClaimState.ACCEPTED})
Progress = Callable[[str], None]
Result = TypeVar("Result")


async def through_the_outage(
    plan: Plan, home: Path, broker: engine.RunningEngine, *, breaker: bool, tell: Progress
) -> Figures:
    """All claims through the outage, until each has its protocol or lies on a person's desk."""
    async with world(plan, home, broker, breaker=breaker) as here:
        play = _Play(here, plan, tell)
        claims = await play.to_the_end()
        async with here.app.store.reading() as tx:
            attempts = [await tx.attempts.count(claim.claim_id) for claim in claims]
        lost = Counter(claim.reason for claim in claims if claim.state is not ClaimState.ACCEPTED)
        for reason, number in lost.most_common():
            tell(f"not recovered: {number}, {reason}")
        for line in await play.last_stories(claims):
            tell(line)
        accepted = len(claims) - lost.total()
        recovery = here.began + plan.outage
        return figures(attempts, accepted, here.simulator.ledger.entries, recovery, plan.per_minute)


class _Play:
    def __init__(self, here: World, plan: Plan, tell: Progress) -> None:
        self._here = here
        self._tell = tell
        self._to_come = deque(enumerate(plan.arrivals(here.began), start=1))
        self._recovery = here.began + plan.outage
        self._told = -1

    async def to_the_end(self) -> Sequence[ClaimRow]:
        while True:
            now = await self._here.clock.now()
            await self._hand_in(now)
            claims = await self._at_rest()
            self._report(now, claims)
            if not self._to_come and all(claim.state is not ClaimState.WAITING for claim in claims):
                return claims
            await self._here.clock.advance(self._step(claims, now))

    async def _hand_in(self, now: datetime) -> None:
        while self._to_come and self._to_come[0][1] <= now:
            number, _ = self._to_come.popleft()
            file = ClaimFile(file_bytes(file_text(f"{number:012d}", first=number)))
            await _until_taken(lambda file=file: self._here.app.intake.submit(file))  # type: ignore[misc]

    async def _at_rest(self) -> Sequence[ClaimRow]:
        """All claims, once none of them moves or is due, and the payer was probed in time."""
        stuck, moving = _Patience(), frozenset[str]()
        while True:
            now, began = await self._here.clock.now(), monotonic()
            claims, payer = await _until_taken(lambda: self._here.app.store.look(_look))
            looked = monotonic() - began
            still = frozenset(claim.claim_id for claim in claims if _moves(claim, now))
            if now - ((payer and payer.probed_at) or self._here.began) > PROBE_OVERDUE:
                still |= {PAYER}
            if not still:
                return claims
            if still != moving:
                stuck, moving = _Patience(), still
            elif stuck.is_hopeless:
                raise TimeoutError(await self._account(sorted(moving)))
            elif stuck.calls_for_help():
                # a jump of the clock may have cost a job its way to the worker: it comes again with its lock
                await self._here.clock.advance(self._shortest_step(now))
            await asyncio.sleep(max(LOOK_SECONDS, 4 * looked))  # looking at thousands costs the worker time

    async def _account(self, moving: Sequence[str]) -> str:
        """What is known of the first that do not move on."""
        head = f"{len(moving)} claims or payers do not move on"
        async with self._here.app.store.reading() as tx:
            lines = [f"{await tx.claims.find(name)}: {await self._story(name)}" for name in moving[:NAMED]]
        return "\n".join((head, *lines))

    async def last_stories(self, claims: Sequence[ClaimRow]) -> Sequence[str]:
        """How it went with those that ended last."""
        last = sorted(claims, key=lambda claim: claim.updated_at)[-NAMED:]
        return [f"last of all: {await self._story(claim.claim_id)}" for claim in last]

    async def _story(self, claim_id: str) -> str:
        async with self._here.app.store.reading() as tx:
            entries = await tx.journal.of_claim(claim_id)
        lines = (
            f"{(entry.at - self._recovery) / MINUTE:+.1f} min {entry.event} {entry.detail}"
            for entry in entries
        )
        return f"{claim_id}: {'; '.join(lines)}"

    def _step(self, claims: Sequence[ClaimRow], now: datetime) -> timedelta:
        """To the next arrival or timer; not so far that a probe is missed, nor a step for each claim."""
        timers = (claim.next_retry_time for claim in claims if claim.state is ClaimState.WAITING)
        moments = [moment for moment in timers if moment] + [at for _, at in self._to_come]
        return min(max(min(moments) - now, self._shortest_step(now)), LONGEST_STEP)

    def _shortest_step(self, now: datetime) -> timedelta:
        return FINE_STEP if timedelta() <= now - self._recovery < LOOKED_AT_FINELY else COARSE_STEP

    def _report(self, now: datetime, claims: Sequence[ClaimRow]) -> None:
        accepted = sum(claim.state is ClaimState.ACCEPTED for claim in claims)
        quarters = (now - self._here.began) // timedelta(minutes=15)
        if quarters > self._told:
            self._told = quarters
            self._tell(f"{quarters * 15:4d} min: {len(claims)} claims in, {accepted} accepted")


async def _until_taken(work: Callable[[], Awaitable[Result]]) -> Result:
    """Like a person who tries again when the database is busy with all the others."""
    ends = monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return await work()
        except DatabaseError:
            if monotonic() > ends:
                raise
            await asyncio.sleep(1)


async def _look(tx: Transaction) -> tuple[Sequence[ClaimRow], PayerStatus | None]:
    return await tx.claims.all(), await tx.payers.find(PAYER)


class _Patience:
    """Some seconds without a change call for help, a few minutes are a fault."""

    def __init__(self) -> None:
        self._began = monotonic()
        self._helped = self._began

    @property
    def is_hopeless(self) -> bool:
        """Whether this is a fault."""
        return monotonic() - self._began > PATIENCE_SECONDS

    def calls_for_help(self) -> bool:
        """Whether help is due now."""
        now = monotonic()
        if now - self._helped < HELP_SECONDS:
            return False
        self._helped = now
        return True


def _moves(claim: ClaimRow, now: datetime) -> bool:
    if claim.state not in RESTING:
        return True
    return (
        claim.state is ClaimState.WAITING
        and claim.next_retry_time is not None
        and claim.next_retry_time <= now
    )
