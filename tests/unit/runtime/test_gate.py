"""The gate: shut by a doubt, opened by a look, never a reason to seem stalled."""

import asyncio

from workers.runtime.events import JobsHeld, JobsResumed, RuntimeEvent
from workers.runtime.gate import Gate


class Answers:
    """Says no so many times, then yes."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.asked = 0

    async def well(self) -> bool:
        self.asked += 1
        await asyncio.sleep(0)
        return self.asked > self.refusals


async def test_nobody_looks_without_a_doubt() -> None:
    answers = Answers(1)
    await Gate(answers.well).passed()
    assert answers.asked == 0


async def test_a_doubt_that_is_unfounded_holds_nobody_and_tells_nothing() -> None:
    answers, events = Answers(0), list[RuntimeEvent]()
    gate = Gate(answers.well, listener=events.append)
    gate.doubt()
    await gate.passed()
    assert (answers.asked, events) == (1, [])


async def test_it_opens_for_all_when_one_look_finds_all_well() -> None:
    answers, events, beats = Answers(3), list[RuntimeEvent](), list[int]()
    gate = Gate(answers.well, look_seconds=0.001, listener=events.append)
    gate.doubt()
    await asyncio.gather(*(gate.passed(lambda: beats.append(1)) for _ in range(8)))
    assert answers.asked == 4
    assert events == [JobsHeld(), JobsResumed()]
    assert len(beats) >= 8
