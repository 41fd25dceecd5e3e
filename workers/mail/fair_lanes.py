"""Mail by turns: the lanes, their order and their limits, put together from the settings."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from domain.ports import Clock
from persistence.store import Store
from workers.config.fairness import FairnessSettings
from workers.mail.lane_order import FairOrder
from workers.mail.lane_source import StoredLanes
from workers.mail.permits import SharedMailLimits, SharedPermits
from workers.runtime.lanes import LaneTerms


@dataclass(frozen=True, slots=True)
class FairLanes:
    """What a worker serves lanes of mail with; metrics read `order`, and `source` hears of new mail."""

    source: StoredLanes
    order: FairOrder
    permits: SharedPermits

    def terms(self) -> LaneTerms:
        """As the runtime wants them."""
        return LaneTerms(self.source, self.order, self.permits)


@dataclass(frozen=True, slots=True)
class LaneNeeds:
    """What the lanes stand on; a mail whose worker died counts as under way for `lease`."""

    store: Store
    clock: Clock
    new_id: Callable[[], str]
    lease: timedelta = timedelta(minutes=5)


def fair_lanes(settings: FairnessSettings, lanes: int, needs: LaneNeeds) -> FairLanes:
    """Lanes as the settings have them; switched off, mail leaves in the order in which it came."""
    limits = SharedMailLimits(settings.overall(), settings.per_company(), settings.own(), needs.lease)
    return FairLanes(
        StoredLanes(needs.store, lanes),
        FairOrder(settings.terms(), needs.clock),
        SharedPermits(needs.store, needs.clock, limits, needs.new_id),
    )
