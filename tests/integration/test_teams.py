"""Whom a claim reaches: the notice, the review, and what `reenvio claim` says of it."""

import os
from pathlib import Path
from typing import Any

import pytest

from domain.claim_state import ClaimState
from persistence.store import Store
from tests.support.builders import CLAIM, NOW
from tests.support.command_line import run_reenvio
from tests.support.services import services
from workers.jobs.close_claim import close_claim
from workers.jobs.notify import notify
from workers.jobs.open_review import open_review
from workers.runtime import Complete, Incident, Job

TEMPLATE = {"template": "permanent-error"}


async def told(store: Store, headers: dict[str, str], **variables: Any) -> object:
    """What a notify job with these headers and variables leads to; the recipient when it is recorded."""
    handler = notify(services(store))
    job = Job(1, "notify", "Task", 1, 3, TEMPLATE | headers, {"claimId": CLAIM} | variables)
    outcome = await handler.handle(job)
    async with store.reading() as tx:
        notices = await tx.notices.of_claim(CLAIM)
    return [notice.recipient for notice in notices] if outcome == Complete() else outcome


async def reviewed(store: Store, claim: str, team: str | None, job_key: int) -> None:
    handler = open_review(services(store))
    variables = {"claimId": claim, "reviewReason": "PERMANENT_ERROR", "responsibleTeam": team}
    assert isinstance(
        await handler.handle(Job(job_key, "open-review", "Task", 1, 3, {}, variables)), Complete
    )


async def test_a_header_alone_names_the_recipient(store: Store) -> None:
    assert await told(store, {"recipientGroup": "AUDITORS"}) == ["AUDITORS"]


async def test_a_variable_names_the_recipient_before_the_header(store: Store) -> None:
    headers = {"recipientGroup": "BILLING_MANAGEMENT"}
    assert await told(store, headers, recipientGroup="OPERATIONS") == ["OPERATIONS"]


async def test_a_variable_that_says_nothing_leaves_it_to_the_header(store: Store) -> None:
    headers = {"recipientGroup": "BILLING_MANAGEMENT"}
    assert await told(store, headers, recipientGroup=None) == ["BILLING_MANAGEMENT"]


async def test_a_team_that_is_none_is_an_incident_that_names_the_three(store: Store) -> None:
    outcome = await told(store, {}, recipientGroup="Maria")
    assert isinstance(outcome, Incident)
    assert "'REGISTRATION', 'BILLING_MANAGEMENT' or 'OPERATIONS'" in outcome.message
    assert "Maria" not in outcome.message


async def test_a_header_that_is_lacking_is_told_with_a_remedy_that_works(store: Store) -> None:
    closing = await close_claim(services(store)).handle(
        Job(1, "close-claim", "Task", 1, 3, {}, {"claimId": CLAIM})
    )
    for outcome in (await told(store, {}), closing):
        assert isinstance(outcome, Incident)
        assert "let the task begin again, since a job keeps its headers" in outcome.message
        assert "`reenvio claim resolve CLAIM`" in outcome.message


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_claim_show_and_claim_list_say_which_team_a_review_waits_for(
    store: Store, url: str, tmp_path: Path
) -> None:
    claims = {"CLM-1-1": "REGISTRATION", "CLM-2-2": "OPERATIONS", "CLM-3-3": None}
    async with store.transaction() as tx:
        for claim in claims:
            await tx.claims.put(claim, "302147", ClaimState.FAILED, now=NOW)
    for job_key, (claim, team) in enumerate(claims.items()):
        await reviewed(store, claim, team, job_key)
    listed = await reenvio(url, tmp_path, "claim", "list", "--state", "in_review")
    for claim, team in claims.items():
        [line] = [line for line in listed.splitlines() if claim in line]
        assert (team or "PERMANENT_ERROR") in line
        shown = await reenvio(url, tmp_path, "claim", "show", claim)
        assert (f"team      {team}" in shown) == (team is not None)


async def reenvio(url: str, home: Path, *arguments: str) -> str:
    """What a command says."""
    given = os.environ | {"DATABASE_URL": url, "REENVIO_HOME": str(home), "COLUMNS": "200"}
    done = await run_reenvio(given, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout
