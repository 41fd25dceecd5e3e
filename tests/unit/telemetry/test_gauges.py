"""Gauges: read in a loop, shown as last read, left out when nobody can read them."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from domain.readings import Reading
from workers.app.telemetry import gauges as gauges_module
from workers.app.telemetry.gauges import Gauges, GaugeSource


class Time:
    """A hand-moved monotonic clock."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Letters:
    """A source of one gauge that counts how often it is asked, and can be away."""

    def __init__(self) -> None:
        self.asked = 0
        self.away = False

    async def read(self) -> Sequence[Reading]:
        self.asked += 1
        if self.away:
            raise ConnectionError("CLM-1 of Maria")
        return [Reading("dlq_size", self.asked), Reading("reenvio_claims", 7, {"state": "WAITING"})]


class Most:
    """Counts how many were inside at once, at most."""

    def __init__(self) -> None:
        self.now = self.most = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            yield
        finally:
            self.now -= 1


@pytest.fixture
def letters() -> Letters:
    return Letters()


async def test_a_gauge_shows_what_was_read_last(letters: Letters) -> None:
    gauges = Gauges()
    gauges.add(GaugeSource("letters", letters.read))
    assert list(gauges.of("dlq_size")) == []
    await gauges.refresh()
    await gauges.refresh()
    assert list(gauges.of("dlq_size")) == [Reading("dlq_size", 2)]
    assert list(gauges.of("reenvio_claims")) == [Reading("reenvio_claims", 7, {"state": "WAITING"})]


async def test_a_source_in_trouble_is_left_out_told_once_and_hurts_no_other(letters: Letters) -> None:
    gauges, other = Gauges(), Letters()
    gauges.add(GaugeSource("letters", letters.read))
    gauges.add(GaugeSource("other", other.read))
    await gauges.refresh()
    letters.away = True
    with capture_logs() as logs:
        await gauges.refresh()
        await gauges.refresh()
    assert [one.value for one in gauges.of("dlq_size")] == [3]
    assert logs == [
        {
            "event": "gauges_left_out",
            "log_level": "warning",
            "source": "letters",
            "error": "ConnectionError",
        }
    ]
    letters.away = False
    await gauges.refresh()
    assert len(list(gauges.of("dlq_size"))) == 2


async def test_a_dear_source_is_asked_seldom_but_soon_after_trouble(letters: Letters) -> None:
    now = Time()
    gauges = Gauges(now)
    gauges.add(GaugeSource("letters", letters.read, every_seconds=300))
    await gauges.refresh()
    now.now += 299
    await gauges.refresh()
    assert letters.asked == 1
    now.now += 1
    letters.away = True
    await gauges.refresh()
    letters.away = False
    now.now += 15
    await gauges.refresh()
    assert letters.asked == 3
    assert len(list(gauges.of("dlq_size"))) == 1


async def test_a_dear_source_that_stays_in_trouble_is_asked_after_growing_pauses_up_to_its_own(
    letters: Letters,
) -> None:
    now, asked_at = Time(), []
    gauges, letters.away = Gauges(now), True
    gauges.add(GaugeSource("letters", letters.read, every_seconds=300))
    for second in range(0, 1_200, 15):
        now.now, before = 100.0 + second, letters.asked
        await gauges.refresh()
        asked_at += [second] * (letters.asked - before)
    assert asked_at == [0, 15, 45, 105, 225, 465, 765, 1065]


async def test_sources_that_hang_are_all_left_out_when_the_time_for_one_is_over(
    letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gauges_module, "LONGEST_READ_SECONDS", 0.2)
    gauges, frozen, at_once = Gauges(), asyncio.Event(), Most()

    async def read() -> Sequence[Reading]:
        with at_once.one():
            await frozen.wait()
            return [Reading("reenvio_mails_waiting", 1)]

    gauges.add(GaugeSource("readiness", letters.read))
    for number in range(12):
        gauges.add(GaugeSource(f"frozen-{number}", read))
    frozen.set()
    await gauges.refresh()
    assert len(list(gauges.of("reenvio_mails_waiting"))) == 12
    frozen.clear()
    began = time.monotonic()
    await gauges.refresh()
    assert time.monotonic() - began < 5 * 0.2
    assert list(gauges.of("reenvio_mails_waiting")) == []
    assert list(gauges.of("dlq_size")) == [Reading("dlq_size", 2)]
    assert at_once.most == gauges_module.AT_ONCE


async def test_the_loop_reads_again_and_again(letters: Letters) -> None:
    gauges = Gauges()
    gauges.add(GaugeSource("letters", letters.read))
    loop = asyncio.create_task(gauges.run(0.001))
    async with asyncio.timeout(10):
        while letters.asked < 3:
            await asyncio.sleep(0.001)
    loop.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loop
