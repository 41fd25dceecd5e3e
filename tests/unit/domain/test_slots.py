"""Slots: when the payer opens, and how those that waited share the pace with new claims."""

from datetime import UTC, datetime, time, timedelta

from domain.payer_status import PayerLimits, PayerStatus, PlannedDowntime
from domain.slots import Wait, draw, opening, plan
from gateways.tiss.hours import PostingHours

NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)
LIMITS = PayerLimits()
WELL = PayerStatus("p", NOW, proven=True)


def at(**by: float) -> datetime:
    return NOW + timedelta(**by)


def test_a_window_over_the_opening_delays_it() -> None:
    hours = PostingHours(opens=time(8), closes=time(9), zone="UTC")
    morning = datetime(2026, 1, 13, 8, tzinfo=UTC)
    limits = PayerLimits(hours=hours, windows=(PlannedDowntime(morning, morning + timedelta(hours=2)),))
    assert opening(limits, NOW) == morning + timedelta(days=1)


def test_those_that_waited_share_the_pace_with_new_ones() -> None:
    waits = [Wait(f"c{n}", "p", NOW, NOW, deadline=at(hours=9 - n)) for n in range(3)]
    waits.append(Wait("no deadline", "p", at(hours=-9), NOW))
    status, slots = plan(WELL, waits, LIMITS, NOW)
    assert [slot.claim_id for slot in slots] == ["c2", "c1", "c0", "no deadline"]
    assert [slot.at for slot in slots] == [at(seconds=1 + 2 * n) for n in range(4)]
    new = []
    for _ in range(6):
        status, slot = draw(status, LIMITS, NOW)
        new.append(slot)
    assert new == [at(seconds=second) for second in (2, 4, 6, 8, 10, 11)]


def test_with_the_whole_share_new_claims_come_after_all_that_waited() -> None:
    limits = PayerLimits(share=1)
    status, _ = plan(WELL, [Wait(f"c{n}", "p", NOW, NOW) for n in range(5)], limits, NOW)
    assert draw(status, limits, NOW)[1] == at(seconds=6)
