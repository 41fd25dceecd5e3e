"""Whose turn it is among lanes: the domain's round robin, kept for one worker."""

from collections.abc import Sequence

from domain.mail.fairness import Fairness, FairnessTerms, TenantFairnessMetrics
from domain.ports import Clock
from workers.runtime.lanes import Lane, LaneTurn


class FairOrder:
    """Tenants take turns; one with several lanes, as after a change of their number, takes turns as one.

    Tenants that share a lane have turns of their own, but what comes out of it comes in the order of its
    arrival. So a lane, too, gives no more than a batch in a row while others wait.
    """

    def __init__(self, terms: FairnessTerms, clock: Clock) -> None:
        self._fairness = Fairness(terms)
        self._clock = clock
        self._lane = ""
        self._in_a_row = 0

    def next_turn(self, waiting: Sequence[Lane]) -> LaneTurn:
        """The lane of the tenant whose turn it is; its longest waiting one."""
        self._fairness = self._fairness.seen(list(dict.fromkeys(lane.tenant for lane in waiting)))
        others = [lane for lane in waiting if lane.name != self._lane]
        left = self._fairness.terms.batch - self._in_a_row
        lanes: dict[str, Lane] = {}
        for lane in others if self._gives_way and others and left < 1 else waiting:
            lanes.setdefault(lane.tenant, lane)
        turn = self._fairness.next_turn(list(lanes))
        chosen = lanes[turn.tenant]
        goes_on = self._gives_way and others and chosen.name == self._lane
        return LaneTurn(chosen, min(turn.most, left) if goes_on else turn.most)

    @property
    def _gives_way(self) -> bool:
        return self._fairness.terms.enabled

    async def served(self, lane: Lane, tenants: Sequence[str]) -> None:
        """Jobs of these tenants were taken out of the lane, in this order."""
        if tenants:
            self._in_a_row = len(tenants) + (self._in_a_row if lane.name == self._lane else 0)
            self._lane = lane.name
            self._fairness = self._fairness.took(lane.tenant, tenants, await self._clock.now())

    def set_back(self, tenant: str) -> None:
        """A job of the tenant that was taken may not go yet."""
        self._fairness = self._fairness.set_back(tenant)

    def fair_rounds(self) -> int:
        """How many turns of others nobody need wait longer than, now."""
        return self._fairness.fair_rounds()

    def metrics(self) -> tuple[TenantFairnessMetrics, ...]:
        """The document's six figures of every tenant that was served or waits."""
        return self._fairness.metrics()
