"""Whose turn it is among lanes: the domain's round robin, kept for one worker."""

from collections.abc import Sequence

from domain.mail.fairness import Fairness, FairnessTerms, TenantFairnessMetrics
from domain.ports import Clock
from workers.runtime.lanes import Lane, LaneTurn


class FairOrder:
    """Tenants take turns; one with several lanes, as after a change of their number, takes turns as one."""

    def __init__(self, terms: FairnessTerms, clock: Clock) -> None:
        self._fairness = Fairness(terms)
        self._clock = clock

    def next_turn(self, waiting: Sequence[Lane]) -> LaneTurn:
        """The lane of the tenant whose turn it is; its longest waiting one."""
        lanes: dict[str, Lane] = {}
        for lane in waiting:
            lanes.setdefault(lane.tenant, lane)
        tenants = list(lanes)
        self._fairness = self._fairness.seen(tenants)
        turn = self._fairness.next_turn(tenants)
        return LaneTurn(lanes[turn.tenant], turn.most)

    async def served(self, lane: Lane, number: int) -> None:
        """So many jobs of the lane were taken."""
        if number:
            self._fairness = self._fairness.served(lane.tenant, number, await self._clock.now())

    def fair_rounds(self) -> int:
        """How many turns of others nobody need wait longer than, now."""
        return self._fairness.fair_rounds()

    def metrics(self) -> tuple[TenantFairnessMetrics, ...]:
        """The document's six figures of every tenant that was served or waits."""
        return self._fairness.metrics()
