"""Made-up histories of claims that failed, with every kind of end, and their rows for either database."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Table, insert
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.tables import claims, retry_decisions, submission_attempts

BEGIN = datetime(2026, 3, 1, 2, 0, tzinfo=UTC)
DAYS = 60
PAYERS = [f"payer-{number}" for number in range(12)]
MAX_RETRIES = 5
CHUNK = 20_000


@dataclass(slots=True)
class Decided:
    """A decision: to retry, or the end it is."""

    at: datetime
    count: int
    end: str | None = None


@dataclass(slots=True)
class Sent:
    """A send and what came of it."""

    started: datetime
    finished: datetime | None
    outcome: str | None
    undone: bool = False


@dataclass(slots=True)
class Story:
    """A claim that failed at least once; without a payer another process sends it."""

    claim_id: str
    payer: str | None
    state: str = "WAITING"
    decided: list[Decided] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)


def stories(decisions: int, seed: int = 17) -> Iterator[Story]:
    """Claims with so many decisions in all, the same for the same seed, in the order they came."""
    rng, made, number = random.Random(seed), 0, 0
    step = timedelta(days=DAYS) / max(decisions // 2, 1)
    while made < decisions:
        story = _Teller(rng, f"CLM-{seed:03d}-{number:08d}", BEGIN + number * step).tell()
        story.decided = story.decided[: decisions - made]
        made += len(story.decided)
        number += 1
        yield story


class _Teller:
    """Tells one claim's story, from its first send on."""

    def __init__(self, rng: random.Random, claim_id: str, at: datetime) -> None:
        self._rng, self._at = rng, at
        self._story = Story(claim_id, None if rng.random() < 0.05 else rng.choice(PAYERS))

    def tell(self) -> Story:
        story, rng = self._story, self._rng
        self._round(success=0.62)
        if story.state == "IN_REVIEW" and rng.random() < 0.5:
            self._pass_by(60, 40_000)
            self._later_round()
        if story.payer is None:
            story.sent.clear()
        return story

    def _later_round(self) -> None:
        match self._rng.random():
            case chance if chance < 0.4:
                self._round(success=0.5)
            case chance if chance < 0.6:
                self._story.state = "ACCEPTED"  # a person had its number
            case _:
                self._story.state = "WRITTEN_OFF"

    def _round(self, success: float) -> None:
        rng, story = self._rng, self._story
        is_first = not story.sent
        for count in range(MAX_RETRIES + 1):
            if (not is_first or count) and rng.random() < success:
                self._send("ACCEPTED")
                story.state = "ACCEPTED"
                self._perhaps_undone()
                return
            self._send(rng.choice(["FAILED", "FAILED", "FAILED", "ANSWER_LOST"]))
            if self._is_over(count):
                return
            self._pass_by(240, 3_600 * (count + 1))

    def _is_over(self, count: int) -> bool:
        """Decide, and perhaps leave the claim where it stands."""
        rng, story = self._rng, self._story
        self._pass_by(0, 3)
        if count >= MAX_RETRIES:
            return self._give_up("RETRIES", count)
        if rng.random() < 0.06:
            return self._give_up("PERMANENT", count)
        if rng.random() < 0.02:
            return self._give_up("DEADLINE", count)
        story.decided.append(Decided(self._at, count))
        left_at = rng.random()
        story.state = "WAITING" if left_at < 0.02 else "CANCELLED" if left_at < 0.03 else "IN_REVIEW"
        return left_at < 0.035

    def _give_up(self, end: str, count: int) -> bool:
        self._story.decided.append(Decided(self._at, count, end))
        self._story.state = "IN_REVIEW"
        return True

    def _send(self, outcome: str) -> None:
        started = self._at
        self._pass_by(0, 20)
        self._story.sent.append(Sent(started, self._at, outcome))

    def _perhaps_undone(self) -> None:
        if self._rng.random() < 0.01:
            self._story.state = "IN_REVIEW"
            for send in self._story.sent:
                send.undone = True

    def _pass_by(self, least: int, most: int) -> None:
        self._at += timedelta(microseconds=self._rng.randint(least * 1_000_000 + 1, most * 1_000_000))


def decision_rows(story: Story) -> Iterator[dict[str, Any]]:
    """Its decisions as they are kept."""
    seen: dict[int, int] = {}
    for number, one in enumerate(story.decided):
        round_ = seen[one.count] = seen.get(one.count, -1) + 1
        retried = one.end is None
        yield {
            "claim_id": story.claim_id, "retry_count": one.count, "process_instance_key": 1,
            "round": round_, "job_key": number, "attempt_number": one.count + 1,
            "submission_error": "TIMEOUT", "max_retries": MAX_RETRIES, "backoff_minutes": 5 * retried,
            "error_classification": "PERMANENT" if one.end == "PERMANENT" else "TRANSIENT",
            "error_category": "TIMEOUT", "should_retry": retried, "retry_reason": "made up",
            "policy_version": "1", "decided_at": one.at, "next_retry_time": None, "audit_sequence": number,
            "result": {}, "deadline": None, "cause": one.end if one.end in ("RETRIES", "DEADLINE") else None,
        }  # fmt: skip


def send_rows(story: Story) -> Iterator[dict[str, Any]]:
    """Its sends as they are kept."""
    for number, one in enumerate(story.sent, start=1):
        yield {
            "claim_id": story.claim_id, "attempt": number, "job_key": number, "started_at": one.started,
            "finished_at": one.finished, "outcome": one.outcome, "result": None,
            "undone_at": one.finished if one.undone else None,
        }  # fmt: skip


def claim_rows(story: Story) -> Iterator[dict[str, Any]]:
    """Its row, where it is ours."""
    if story.payer:
        yield {
            "claim_id": story.claim_id, "payer_id": story.payer, "state": story.state, "retry_count": 0,
            "created_at": story.decided[0].at, "updated_at": story.decided[-1].at,
        }  # fmt: skip


ROWS = ((claims, claim_rows), (retry_decisions, decision_rows), (submission_attempts, send_rows))


async def keep(database: AsyncEngine, told: Sequence[Story]) -> None:
    """Put stories into a database as they are: no worker has written them, so no first round is kept."""
    async with database.begin() as connection:
        await connection.run_sync(_insert, told)


def _insert(connection: Connection, told: Sequence[Story]) -> None:
    for table, rows_of in ROWS:
        _insert_into(connection, table, [row for story in told for row in rows_of(story)])


def _insert_into(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), rows)
