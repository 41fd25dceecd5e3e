"""A turn of the whole way that does not end: it is given up, and nobody is measured with its claims."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from rich.console import Console

from tests.bench.whole.__main__ import LAST_TURN, Bench
from tests.bench.whole.options import read_options
from tests.bench.whole.reenvio import Reenvio
from tests.bench.whole.way import Entrant
from tests.support import broker
from tests.support.broker import BenchBroker, StalledError

NOTHING: Any = None


def counting(counts: Iterator[int]) -> BenchBroker:
    """A broker that tells one number of completed jobs after the other."""

    class Counting(BenchBroker):
        async def completed(self, _job_type: str) -> int:
            return next(counts)

    return Counting(NOTHING, NOTHING, NOTHING)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "LOOK_SECONDS", 0)


async def test_jobs_that_are_completed_one_by_one_are_waited_for() -> None:
    moments = iter(range(1000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(broker, "monotonic", lambda: float(next(moments)))
        assert await counting(iter(range(100))).wait_steadily("job", 99, still=3) > 0


async def test_when_none_is_completed_for_long_the_rest_is_given_up() -> None:
    moments = iter(range(1000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(broker, "monotonic", lambda: float(next(moments)))
        with pytest.raises(StalledError, match="95 jobs are left"):
            await counting(iter([3, 4, *[5] * 100])).wait_steadily("job", 100, still=20)


@dataclass
class Stalling:
    """Grounds on which nobody's turn ends."""

    played: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def turn(self, entrant: Entrant, _kind: str) -> AsyncIterator[None]:
        self.played.append(str(entrant))
        raise StalledError("nobody moves")
        yield


@pytest.mark.parametrize(
    ("contenders", "played", "told"),
    [
        (["reenvio"], ["plain", "reenvio"], 1),
        (["plain"], ["plain"] * 5, 0),
        (["reenvio", "plain"], ["plain", "reenvio"], 1),
    ],
)
async def test_a_turn_of_ours_that_does_not_end_is_the_last(
    contenders: list[str], played: list[str], told: int
) -> None:
    grounds: Any = Stalling()
    console = Console(width=200)
    options = read_options(["--rounds", "2", "--contenders", *contenders])
    bench = Bench(options, Reenvio(), grounds, console)
    with console.capture() as shown:
        await bench.run()
    assert grounds.played == played  # the first is the warm-up
    assert len(bench.failures) == len(played) - 1
    assert shown.get().count(LAST_TURN) == told
