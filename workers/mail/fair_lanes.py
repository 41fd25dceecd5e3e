"""Mail by turns: the lanes, their order and their limits, put together from the settings."""

from dataclasses import dataclass

from bpmn.names import Variable
from domain.ports import Clock
from persistence.store import Store
from workers.config.fairness import FairnessSettings
from workers.mail.lane_order import FairOrder
from workers.mail.lane_source import StoredLanes
from workers.mail.limits import MailLimiter, SharedMailLimits
from workers.runtime.lanes import LaneTerms


@dataclass(frozen=True, slots=True)
class FairLanes:
    """What a worker serves lanes of mail with; metrics read `order`, and `source` hears of new mail."""

    source: StoredLanes
    order: FairOrder
    limits: MailLimiter

    def terms(self) -> LaneTerms:
        """As the runtime wants them."""
        return LaneTerms(self.source, self.order, self.limits, Variable.COMPANY_ID)


@dataclass(frozen=True, slots=True)
class LaneNeeds:
    """What the lanes stand on."""

    store: Store
    clock: Clock


def fair_lanes(settings: FairnessSettings, lanes: int, needs: LaneNeeds) -> FairLanes:
    """Lanes as the settings have them; switched off, mail leaves in the order in which it came."""
    limits = SharedMailLimits(settings.overall(), settings.per_company(), settings.own())
    order = FairOrder(settings.terms(), needs.clock)
    limiter = MailLimiter(needs.store, needs.clock, limits, order.set_back)
    return FairLanes(StoredLanes(needs.store, lanes), order, limiter)
