"""Group commit: who arrives during a commit shares the next; nobody waits for a stranger's mistake."""

import asyncio
from collections.abc import Callable, Sequence
from contextvars import ContextVar

import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError

from persistence.database.group_commit import GroupCommit, Lanes, LeftOut
from persistence.database.trouble import DatabaseError, is_locked_out

LOCKED, FULL = "55P03", "53100"


class DriverError(Exception):
    """As asyncpg's: with PostgreSQL's code, and of no kind of its own."""

    def __init__(self, code: str) -> None:
        self.sqlstate = code


class Commits:
    """Remembers which works were committed together; each commit takes one turn of the gate."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.gate = asyncio.Event()

    async def commit(self, works: Sequence[str]) -> Sequence[str]:
        await self.gate.wait()
        self.groups.append(list(works))
        if "bad" in works:
            raise IntegrityError("insert", {}, ValueError())
        if "away" in works:
            raise OSError
        for code in {LOCKED, FULL} & set(works):
            raise DatabaseError(code) from DBAPIError("insert", {}, DriverError(code))
        return [work.upper() for work in works]


def group(commits: Commits, limit: int = 64) -> GroupCommit[str, str]:
    return GroupCommit(commits.commit, key=lambda work: work, limit=limit)


async def test_what_arrives_together_is_committed_together_and_answered_apart() -> None:
    commits = Commits()
    commits.gate.set()
    grouped = group(commits)
    assert await asyncio.gather(*map(grouped.add, "abc")) == ["A", "B", "C"]
    assert commits.groups == [["a", "b", "c"]]


whose: ContextVar[str] = ContextVar("whose", default="nobody")


async def test_who_asked_is_told_once_in_its_own_context_also_when_it_waits_no_more() -> None:
    commits, told = Commits(), asyncio.Queue[tuple[str, str]]()
    grouped = group(commits)

    async def ask(work: str) -> str:
        whose.set(work)
        return await grouped.add(work, lambda answer: told.put_nowait((whose.get(), answer)))

    gone, stays = asyncio.create_task(ask("a")), asyncio.create_task(ask("b"))
    await asyncio.sleep(0)
    gone.cancel()
    commits.gate.set()
    assert await stays == "B"
    assert [told.get_nowait() for _ in range(told.qsize())] == [("a", "A"), ("b", "B")]


async def test_nobody_is_told_of_what_was_not_committed() -> None:
    commits, told = Commits(), list[str]()
    commits.gate.set()
    with pytest.raises(IntegrityError):
        await group(commits).add("bad", told.append)
    await asyncio.sleep(0)
    assert told == []


async def test_what_arrives_during_a_commit_shares_the_next() -> None:
    commits = Commits()
    grouped = group(commits)
    first = asyncio.create_task(grouped.add("a"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    others = [asyncio.create_task(grouped.add(work)) for work in "bc"]
    await asyncio.sleep(0)
    commits.gate.set()
    await asyncio.gather(first, *others)
    assert commits.groups == [["a"], ["b", "c"]]


async def test_a_group_is_closed_by_the_work_that_fills_it() -> None:
    commits = Commits()
    commits.gate.set()
    grouped: GroupCommit[str, str] = GroupCommit(commits.commit, key=lambda work: work, limit=4, size=len)
    await asyncio.gather(*map(grouped.add, ["a", "bb", "c", "d", "eeeeee", "f"]))
    assert commits.groups == [["a", "bb", "c"], ["d", "eeeeee"], ["f"]]


async def test_two_of_the_same_key_never_share_a_commit_and_keep_their_order() -> None:
    commits = Commits()
    commits.gate.set()
    grouped = group(commits)
    await asyncio.gather(*map(grouped.add, "abab"))
    assert commits.groups == [["a", "b"], ["a", "b"]]


async def test_a_group_has_a_limit() -> None:
    commits = Commits()
    commits.gate.set()
    grouped = group(commits, limit=2)
    await asyncio.gather(*map(grouped.add, "abcde"))
    assert [len(works) for works in commits.groups] == [2, 2, 1]


async def test_a_work_that_spoils_its_group_is_refused_alone() -> None:
    commits = Commits()
    commits.gate.set()
    grouped = group(commits)
    answers = await asyncio.gather(*map(grouped.add, ["a", "bad", "c"]), return_exceptions=True)
    assert [answers[0], answers[2]] == ["A", "C"]
    assert isinstance(answers[1], IntegrityError)


@pytest.mark.parametrize("trouble", ["away", LOCKED, FULL])
async def test_a_database_that_is_away_locked_or_full_is_asked_once_for_all(trouble: str) -> None:
    commits = Commits()
    commits.gate.set()
    grouped = group(commits)
    answers = await asyncio.gather(*map(grouped.add, ["a", trouble, "c"]), return_exceptions=True)
    assert all(isinstance(answer, OSError | DatabaseError) for answer in answers)
    assert len(commits.groups) == 1
    assert await grouped.add("d") == "D"


async def test_a_waiter_that_gives_up_does_not_disturb_the_others() -> None:
    commits = Commits()
    grouped = group(commits)
    impatient, patient = (asyncio.create_task(grouped.add(work)) for work in "ab")
    await asyncio.sleep(0)
    impatient.cancel()
    commits.gate.set()
    assert await patient == "B"
    with pytest.raises(asyncio.CancelledError):
        await impatient


async def test_an_error_that_parts_a_group_is_only_its_own_works_error() -> None:
    commits = Commits()
    commits.gate.set()
    grouped = GroupCommit(commits.commit, key=lambda work: work, parts=lambda _: True)
    answers = await asyncio.gather(*map(grouped.add, ["a", LOCKED, "b"]), return_exceptions=True)
    assert (answers[0], answers[2]) == ("A", "B")
    assert isinstance(answers[1], DatabaseError)


async def test_who_lingers_has_company() -> None:
    commits = Commits()
    commits.gate.set()
    grouped = GroupCommit(commits.commit, key=lambda work: work, linger=0.001)
    first = asyncio.create_task(grouped.add("a"))
    for _ in range(3):
        await asyncio.sleep(0)
    await asyncio.gather(first, grouped.add("b"))
    assert commits.groups == [["a", "b"]]


async def test_lanes_wait_for_none_of_each_other_and_are_gone_when_nobody_is_in_them() -> None:
    slow, quick = Commits(), Commits()
    quick.gate.set()
    closed: list[str] = []

    def opened(lane: str, on_idle: Callable[[], None]) -> GroupCommit[str, str]:
        def idle() -> None:
            closed.append(lane)
            on_idle()

        commits = slow if lane == "slow" else quick
        return GroupCommit(commits.commit, key=lambda work: work, on_idle=idle)

    lanes = Lanes(opened)
    held = asyncio.create_task(lanes.add("slow", "a"))
    assert await lanes.add("quick", "b") == "B"
    assert not held.done()
    slow.gate.set()
    assert await held == "A"
    assert await lanes.add("quick", "c") == "C"
    while len(closed) < 3:
        await asyncio.sleep(0)
    assert sorted(closed) == ["quick", "quick", "slow"]


class Apart:
    """Leaves works out that begin with an x; each is tried alone, and ends when the gate opens."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.alone: list[str] = []
        self.gate = asyncio.Event()
        self.idle = 0

    async def commit(self, works: Sequence[str]) -> Sequence[str | LeftOut]:
        self.groups.append(list(works))
        return [LeftOut() if work.startswith("x") else work.upper() for work in works]

    async def try_alone(self, work: str) -> str:
        self.alone.append(work)
        await self.gate.wait()
        if work == "x-bad":
            raise ValueError(work)
        return work.upper()

    def fell_idle(self) -> None:
        self.idle += 1

    @property
    def group(self) -> GroupCommit[str, str]:
        return GroupCommit(
            self.commit, key=lambda work: work.split(":")[0], alone=self.try_alone, on_idle=self.fell_idle
        )


async def test_nobody_waits_for_who_was_left_out_but_others_of_its_key() -> None:
    apart = Apart()
    grouped = apart.group
    left_out = asyncio.create_task(grouped.add("x:1"))
    assert await asyncio.gather(*map(grouped.add, ["a", "b"])) == ["A", "B"]
    same = asyncio.create_task(grouped.add("x:2"))
    assert await grouped.add("c") == "C"
    assert (apart.alone, apart.idle, left_out.done()) == (["x:1"], 0, False)
    apart.gate.set()
    assert [await left_out, await same] == ["X:1", "X:2"]
    assert apart.groups == [["x:1", "a", "b"], ["c"], ["x:2"]]
    await grouped.finished()
    assert apart.idle == 1


async def test_who_is_tried_alone_in_vain_is_refused_alone() -> None:
    apart = Apart()
    apart.gate.set()
    answers = await asyncio.gather(*map(apart.group.add, ["a", "x-bad", "x"]), return_exceptions=True)
    assert (answers[0], answers[2]) == ("A", "X")
    assert isinstance(answers[1], ValueError)


async def test_who_was_parted_from_a_group_by_an_error_keeps_nobody_waiting_either() -> None:
    tried = asyncio.Event()
    gate = asyncio.Event()

    async def commit(works: Sequence[str]) -> Sequence[str]:
        if works == ["slow"]:
            tried.set()
            await gate.wait()
        elif "slow" in works:
            raise ValueError
        return works

    grouped = GroupCommit(commit, key=lambda work: work)
    first = asyncio.gather(*map(grouped.add, ["a", "slow"]))
    await tried.wait()
    assert await grouped.add("later") == "later"
    assert not first.done()
    gate.set()
    assert list(await first) == ["a", "slow"]


async def test_what_nobody_waits_for_any_more_can_be_waited_for() -> None:
    apart, told = Apart(), list[str]()
    lanes = Lanes[str, str](lambda _lane, _on_idle: apart.group)
    asking = asyncio.create_task(lanes.add("lane", "x", told.append))
    while not apart.alone:
        await asyncio.sleep(0)
    asking.cancel()
    ending = asyncio.create_task(lanes.finished())
    await asyncio.sleep(0)
    assert not ending.done()
    apart.gate.set()
    await ending
    assert told == ["X"]


def test_a_lock_is_seen_behind_the_advice_about_it() -> None:
    for code, is_lock in {LOCKED: True, FULL: False}.items():
        behind = DatabaseError(code)
        behind.__cause__ = DBAPIError("select", {}, DriverError(code))
        assert (is_locked_out(behind), is_locked_out(behind.__cause__)) == (is_lock, is_lock)
    assert not is_locked_out(DatabaseError("nobody's"))
