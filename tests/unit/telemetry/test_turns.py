"""Where mail's round robin stands, as gauges: by company, the others as the one of them that is worst off."""

from domain.mail.fairness import FairnessTerms
from domain.readings import Reading
from gateways.clock import WallClock
from workers.app.telemetry.business import KnownNames
from workers.app.telemetry.label_names import LabelNames
from workers.app.telemetry.readings import turn_readings
from workers.mail.lane_order import FairOrder
from workers.runtime.lanes import Lane

NAMES = KnownNames(companies=LabelNames(["company-1"], at_most=1))
BIG, SMALL, LATE = Lane("1", "company-1"), Lane("2", "small"), Lane("3", "late")


def told(found: object, metric: str) -> dict[str, float]:
    assert isinstance(found, list)
    return {one.labels.get("company", ""): one.value for one in found if one.metric == metric}


async def test_who_is_served_and_who_is_passed_over_is_told_by_company_beside_what_is_fair() -> None:
    order = FairOrder(FairnessTerms(), WallClock())
    order.next_turn([BIG, SMALL])
    await order.served(SMALL, ["small"])
    order.next_turn([BIG, SMALL, LATE])
    await order.served(BIG, ["company-1"] * 3)
    found = turn_readings(order, NAMES)
    assert told(found, "tenant_consecutive_batch") == {"company-1": 3, "other": 0}
    assert told(found, "tenant_rounds_without_processing") == {"company-1": 0, "other": 1}
    assert told(found, "tenant_current_priority") == {"company-1": 5, "other": 4}
    assert told(found, "reenvio_mail_fair_rounds") == {"": 2}


async def test_where_no_mail_waits_nothing_is_fair_to_wait_for() -> None:
    order = FairOrder(FairnessTerms(), WallClock())
    assert turn_readings(order, NAMES) == [Reading("reenvio_mail_fair_rounds", 0)]
