"""Claims that one cause has stopped go on by one order, on a real broker: at their payer's pace."""

import asyncio
from datetime import timedelta
from itertools import pairwise

from bpmn.names import ProcessId
from domain.bulk_orders import BulkAction, BulkItemState, BulkState
from domain.claim_state import ClaimState
from domain.operators import attribution
from domain.payer_status import PayerLimits
from gateways.practice.scripted import AcceptLine, FailLine
from persistence.repositories.review_desk import DeskFilter
from tests.process.stage import Claim, Stage, eventually
from workers.app.reviewing import bulk_runner
from workers.claims.bulk_desk import BulkDesk, BulkWish, Signer
from workers.payers.limits import LimitsByPayer

REFUSED = FailLine(error="INVALID_PATIENT_DATA", code="TISS:1001")
PAYER, NUMBER = "payer-bulk", 8
PACED = LimitsByPayer({PAYER: PayerLimits(per_minute=120, grace=timedelta(), at_once=NUMBER)})


async def stopped(stage: Stage) -> list[Claim]:
    claims = []
    for _ in range(NUMBER):
        claim_id = stage.new_claim_id()
        stage.payers.answers[claim_id.value] = (REFUSED, AcceptLine())
        claims.append(await stage.run(ProcessId.SUB_06, claim_id, payerId=PAYER))
    for claim in claims:
        await stage.reaches(claim, ClaimState.IN_REVIEW)
    return claims


async def placed(stage: Stage) -> int:
    desk = BulkDesk(stage.app.store, PACED, stage.app.clock)
    wanted = DeskFilter(payer_id=PAYER)
    preview = await desk.preview(BulkAction.RESEND, wanted)
    assert preview.number == NUMBER
    signer = Signer("ana", attribution("Ana", "cards were mended"))
    bulk_id = await desk.place(BulkWish(BulkAction.RESEND, wanted, "/reviews", preview.mark), signer)
    assert isinstance(bulk_id, int)
    return bulk_id


async def test_one_order_releases_all_at_the_payers_pace_each_sent_once(stage: Stage) -> None:
    async with stage.worker():
        claims = await stopped(stage)
        bulk_id = await placed(stage)
        runner = asyncio.create_task(bulk_runner(stage.app).run())
        for claim in claims:
            await stage.reaches(claim, ClaimState.ACCEPTED)

        async def is_done() -> bool | None:
            order = await stage.app.store.look(lambda tx: tx.bulk_orders.find(bulk_id))
            return (order is not None and order.state is BulkState.DONE) or None

        await eventually(is_done, "the order to be done")
        runner.cancel()
        await asyncio.gather(runner, return_exceptions=True)
    progress = await stage.app.store.look(lambda tx: tx.bulk_orders.progress(bulk_id))
    assert progress.states == {BulkItemState.DONE: NUMBER}
    assert [stage.payers.sends(claim.id) for claim in claims] == [2] * NUMBER
    items = await stage.app.store.look(lambda tx: tx.bulk_orders.items(bulk_id, NUMBER))
    assert all(after.due_at - before.due_at == timedelta(seconds=0.5) for before, after in pairwise(items))
    assert all(item.taken_at and item.taken_at >= item.due_at for item in items)
