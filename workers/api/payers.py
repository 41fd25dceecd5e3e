"""Payers and indicators over HTTP."""

from datetime import date

from starlette.responses import Response

from domain.refusals import malformed
from workers.api.ground import ApiCall, told
from workers.api.models import (
    KpiQuery,
    KpisAnswer,
    NoQuery,
    PauseOrder,
    PayerAnswer,
    PayersAnswer,
    ReasonedOrder,
)
from workers.claims.ordering import Subject, ordered
from workers.payers.orders import UnknownPayer
from workers.payers.status import PayerView, overview
from workers.upkeep.scorecard import AskedKpis, scorecard
from workers.upkeep.scorecard_json import scorecard_json


async def payers(call: ApiCall) -> Response:
    """All payers."""
    call.query(NoQuery)
    return told(PayersAnswer(payers=[PayerAnswer.of(view) for view in await _all(call)]))


async def payer(call: ApiCall) -> Response:
    """One payer."""
    wanted = call.request.path_params["payer_id"]
    for view in await _all(call):
        if view.status.payer_id == wanted:
            return told(PayerAnswer.of(view))
    raise UnknownPayer(wanted)


async def pause(call: ApiCall) -> Response:
    """Hold all claims of a payer."""
    payer_id, order = call.request.path_params["payer_id"], await call.order(PauseOrder)
    orders, now = call.ground.orders, await call.ground.intake.clock.now()
    if order.until is not None and order.until <= now:
        raise malformed("until", "it is past", rule="a moment to come", remedy="Give a later one.")
    await orders.require(payer_id)
    given = call.signed(order)
    async with ordered(orders.store, "pause", Subject(payer_id=payer_id), given, now):
        await orders.pause(payer_id, now, reason=given.reason, until=order.until)
    return await payer(call)


async def resume(call: ApiCall) -> Response:
    """Let the claims of a payer go again."""
    payer_id, order = call.request.path_params["payer_id"], await call.order(ReasonedOrder)
    orders, now = call.ground.orders, await call.ground.intake.clock.now()
    await orders.require(payer_id)
    async with ordered(orders.store, "resume", Subject(payer_id=payer_id), call.signed(order), now):
        await orders.resume(payer_id, now)
    return await payer(call)


async def kpis(call: ApiCall) -> Response:
    """The rules' indicators beside their targets."""
    query, zone = call.query(KpiQuery), call.ground.zone
    now = await call.ground.intake.clock.now()
    asked = AskedKpis(zone, now, _days(query, now.astimezone(zone).date()), query.payer)
    card = await scorecard(call.ground.intake.store, asked)
    return told(KpisAnswer.model_validate(scorecard_json(card, asked)))


def _days(query: KpiQuery, today: date) -> tuple[date, date] | None:
    if query.first is None and query.last is None:
        return None
    begin, end = query.first or query.last or today, query.last or today
    if begin > min(end, today):
        field = "from" if query.first else "to"
        problem = f"{begin} is after {min(end, today)}"
        raise malformed(field, problem, rule="days that have begun, in their order", remedy="Give others.")
    return begin, end


async def _all(call: ApiCall) -> list[PayerView]:
    ground = call.ground
    now = await ground.intake.clock.now()
    return [*await overview(ground.intake.store, ground.orders.limits, now)]
