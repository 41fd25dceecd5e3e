"""What-if: the stored claims played by the policy in force and by another, side by side."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from domain.kpis.definitions import BIL_004
from domain.payer_status import PayerLimits
from domain.policy import Policy
from domain.ports import Clock
from domain.what_if.figures import Agreement, PlayFigures, agreement, figures
from domain.what_if.history import StoredHistory
from domain.what_if.play import Progress, Rules, nobody_looks, play
from persistence.store import Store
from workers.payers.limits import LimitsByPayer
from workers.upkeep.past_play import stored_history

CLAIMS_MOST = 5_000
"""So many claims are played, the newest: some seconds of one processor."""
PROFILE = BIL_004
"""The rule that SUB_06 decides by."""


@dataclass(frozen=True, slots=True)
class TriedLimits:
    """How payers would be treated; None leaves it as it is. Tried only: it is set in PAYERS_FILE."""

    per_minute: int | None = None
    threshold: int | None = None
    first_wait: timedelta | None = None
    longest_wait: timedelta | None = None

    @property
    def is_empty(self) -> bool:
        """Whether payers are treated as they are."""
        return self == TriedLimits()

    def over(self, limits: PayerLimits) -> PayerLimits:
        """A payer's limits with these in place of its own."""
        first = self.first_wait or limits.first_wait
        threshold = self.threshold or limits.threshold
        return replace(
            limits,
            per_minute=self.per_minute or limits.per_minute,
            threshold=threshold,
            unclear_threshold=max(threshold, limits.unclear_threshold),
            first_wait=first,
            longest_wait=max(first, self.longest_wait or limits.longest_wait),
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """What really happened, what the play makes of it, and what it makes of the other rules."""

    history: StoredHistory
    real: PlayFigures
    now: PlayFigures
    then: PlayFigures
    agreement: Agreement
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is tried against the policy in force."""

    now: Policy
    then: Policy
    limits: TriedLimits = TriedLimits()


@dataclass(frozen=True, slots=True)
class PolicyTrials:
    """Plays proposals; the play itself runs beside the loop, in a thread of its own."""

    store: Store
    clock: Clock
    limits: LimitsByPayer

    async def run(
        self, proposal: Proposal, most: int = CLAIMS_MOST, progress: Progress = nobody_looks
    ) -> Trial:
        """Read the newest claims at one moment, then play them twice."""
        until = await self.clock.now()
        history = await self.store.look(lambda tx: stored_history(tx, most, until))
        return await asyncio.to_thread(self._played, history, proposal, most, progress)

    def _played(self, history: StoredHistory, proposal: Proposal, most: int, progress: Progress) -> Trial:
        many, usual = len(history.claims), self.limits.of

        def tried(payer_id: str) -> PayerLimits:
            return proposal.limits.over(usual(payer_id))

        now = play(history, Rules(proposal.now.under(PROFILE), usual), lambda n, _: progress(n, 2 * many))
        then = play(history, Rules(proposal.then.under(PROFILE), tried), _after(many, progress))
        return Trial(
            history=history,
            real=figures([claim.real for claim in history.claims]),
            now=figures(now),
            then=figures(then),
            agreement=agreement(history, now),
            is_cut=many >= most,
        )


def _after(many: int, progress: Progress) -> Callable[[int, int], None]:
    return lambda n, _: progress(many + n, 2 * many)
