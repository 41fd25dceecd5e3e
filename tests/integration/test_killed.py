"""kill -9 at every step of a job and of the relay: nothing is lost, doubled or sent blindly."""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.repositories.decisions import StoredDecision
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.databases import SEALS

KILLS = 100
"""On each of the two databases."""
ACCEPTED = "ClaimAcceptedEvent"


async def killed(url: str, folder: Path) -> dict[str, int]:
    command = (sys.executable, "-m", "tests.integration.mortal", url, str(folder), str(KILLS))
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await child.communicate()
    assert child.returncode == 0
    counted: dict[str, int] = json.loads(output.splitlines()[-1])
    return counted


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def reports(folder: Path, job_type: str) -> dict[int, dict[str, Any]]:
    found = lines(folder / "reported.jsonl")
    return {report["job"]: report["outcome"] for report in found if report["type"] == job_type}


async def test_nothing_is_lost_and_nothing_doubled_however_often_workers_are_killed(
    url: str, database: AsyncEngine, tmp_path: Path
) -> None:
    counted = await killed(url, tmp_path)
    assert sum(counted.values()) == KILLS
    stored = await check_decisions(Store(database, SEALS), reports(tmp_path, "retry-submission-backoff"))
    carried, sends = lines(tmp_path / "events.jsonl"), reports(tmp_path, "submit-claim")
    check_events([event for event in carried if event["type"] != ACCEPTED], stored)
    check_sends((tmp_path / "payer.txt").read_text().split(), sends)
    check_acceptances([event for event in carried if event["type"] == ACCEPTED], sends)


async def check_decisions(store: Store, reported: dict[int, dict[str, Any]]) -> Sequence[StoredDecision]:
    async with store.reading() as tx:
        stored = await tx.decisions.of_claims([f"CLM-KILL-{key}" for key in reported])
        assert [problem async for problem in tx.verification.problems(NOW)] == []
        assert (await tx.outbox.lag()).waiting == 0
    assert {one.job_key: one.result for one in stored} == reported
    assert len(stored) == len(reported)
    return stored


def check_events(carried: list[dict[str, Any]], stored: Sequence[StoredDecision]) -> None:
    assert {event["claimId"] for event in carried} == {one.claim_id for one in stored}
    assert len({event["eventId"] for event in carried}) == len(stored)


def check_acceptances(carried: list[dict[str, Any]], reported: dict[int, dict[str, Any]]) -> None:
    """Each claim that was told its number is told to others, by one event, however often that was carried."""
    numbers = {f"CLM-KILL-{key}": r["complete"]["protocolNumber"] for key, r in reported.items()}
    told = {event["claimId"]: event["payload"]["protocolNumber"] for event in carried}
    assert told == {claim: number for claim, number in numbers.items() if number}
    assert len({event["eventId"] for event in carried}) == len(told)


def check_sends(sent: list[str], reported: dict[int, dict[str, Any]]) -> None:
    answers = {f"CLM-KILL-{key}": r["complete"]["protocolNumber"] for key, r in reported.items()}
    assert sorted(sent) == sorted(answers)
    assert all(number in (f"P-{claim}", None) for claim, number in answers.items())
