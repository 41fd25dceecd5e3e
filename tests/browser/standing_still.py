"""Many claims that their payer has refused: kept in batches, their processes begun where people are asked."""

import asyncio
import json
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import Any

import grpc
from pyzeebe.proto.gateway_pb2 import CreateProcessInstanceRequest, ProcessInstanceCreationStartInstruction
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from bpmn.names import ProcessId
from domain.catalog import Team
from domain.claim_state import ClaimState
from domain.reviews import ReviewReason
from domain.submission import Failed
from persistence.database.trouble import DatabaseError
from persistence.repositories.attempts import AttemptAnswer, AttemptResult, Leaving
from persistence.repositories.review_desk import DeskFilter
from persistence.store import Transaction
from tests.support.builders import draft
from tests.support.tiss_samples import PAYER, file_bytes, file_text
from tests.support.waiting import eventually
from workers.app.composition import App
from workers.claims.examination import ClaimFile
from workers.claims.receiving import Coming, Unsealed, providers_of, receive_all

AT_ONCE, STARTS_AT_ONCE = 100, 8
CROWDED_SECONDS = 0.2
CARD_REFUSED = "TISS:1001"
PATIENCE_SECONDS = 600


async def stopped_by_one_cause(app: App, numbers: range) -> None:
    """Batches of these numbers, sent once and refused for the card; each waits for a person's decision."""
    kept: list[str] = []
    for first in range(numbers.start, numbers.stop, AT_ONCE):
        coming = await _read(app, range(first, min(first + AT_ONCE, numbers.stop)))
        await _keep_refused(app, coming)
        kept += [one.claim_id for one in coming]
    await _begin(app, kept)

    async def all_wait() -> bool:
        await asyncio.sleep(1)
        return await suspended(app, len(numbers)) == len(numbers)

    await eventually(all_wait, PATIENCE_SECONDS)


async def suspended(app: App, most: int) -> int | None:
    """How many claims wait for people; None while the database has no room for the question."""
    wanted = DeskFilter(payer_id=PAYER)
    with suppress(DatabaseError):
        return len(await app.store.look(lambda tx: tx.review_desk.selected(wanted, most)))
    return None


async def _read(app: App, numbers: range) -> Sequence[Coming]:
    now, reader = await app.clock.now(), app.intake.reader
    files = [ClaimFile(file_bytes(file_text(str(number), first=number)), payer=PAYER) for number in numbers]
    checked = await asyncio.gather(*(reader.look_over(file, now) for file in files))
    return [
        Unsealed(one, file.data, now).sealed(app.cipher) for one, file in zip(checked, files, strict=True)
    ]


async def _keep_refused(app: App, coming: Sequence[Coming]) -> None:
    now = coming[0].now

    async def keep(tx: Transaction) -> None:
        await receive_all(tx, coming, app.intake.batches, providers_of(coming))
        await tx.attempts.start_all([Leaving(one.claim_id, 1, 1, now) for one in coming])
        refused = AttemptResult(Failed.stored_as)
        await tx.attempts.finish_all([AttemptAnswer(one.claim_id, 1, refused, now) for one in coming])
        for one in coming:
            await tx.claims.move(one.claim_id, ClaimState.FAILED, now=now)
        drafts = [draft(one.claim_id, error="recusa", code=CARD_REFUSED, now=now) for one in coming]
        await tx.decision_log.record(drafts)

    await app.store.run(keep)


async def _taken(command: Awaitable[object]) -> bool:
    """False where the broker has too much to do just now."""
    try:
        await command
    except grpc.aio.AioRpcError as refused:
        if refused.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
            raise
        return False
    return True


async def _begin(app: App, claims: Sequence[str]) -> None:
    """Their processes, from where the person is asked."""
    stub: Any = GatewayStub(app.channel)
    gate = asyncio.Semaphore(STARTS_AT_ONCE)

    async def begin(claim_id: str) -> None:
        variables = {
            "claimId": claim_id,
            "payerId": PAYER,
            "retryCount": 0,
            "reviewReason": ReviewReason.PERMANENT_ERROR,
            "responsibleTeam": Team.REGISTRATION,
        }
        request = CreateProcessInstanceRequest(
            bpmnProcessId=ProcessId.SUB_06,
            version=-1,
            variables=json.dumps(variables),
            startInstructions=[ProcessInstanceCreationStartInstruction(elementId="Task_OpenReview")],
        )
        async with gate:
            while not await _taken(stub.CreateProcessInstance(request)):
                await asyncio.sleep(CROWDED_SECONDS)

    await asyncio.gather(*(begin(claim_id) for claim_id in claims))
