"""Reviews: what waits for people, grouped by cause; and the claims of one group with what may be done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from starlette.responses import Response

from domain.bulk_orders import NEEDS, BulkAction
from domain.catalog import Team
from domain.reviews import ReviewReason
from persistence.repositories.bulk_orders import BulkOrder, BulkProgress
from persistence.repositories.review_desk import INCIDENT, ReviewGroup, Suspended
from persistence.store import Transaction
from workers.console.pages.visit import Visit, render, times_of
from workers.console.views.bulk import bulk_view
from workers.console.views.reviews import (
    ALL_TEAMS,
    CHOSEN_MOST,
    AskedDesk,
    cause_of,
    group_rows,
    read_desk,
    read_desk_place,
    suspended_rows,
    teams_of,
)

PAGE = CHOSEN_MOST
AT_PAYER_REASONS = (ReviewReason.PROTOCOL_MISSING, ReviewReason.ARRIVAL_UNKNOWN)


@dataclass(frozen=True, slots=True)
class LookedDesk:
    """All groups, and the orders about many claims that are going on, of one moment."""

    groups: Sequence[ReviewGroup]
    going: Sequence[tuple[BulkOrder, BulkProgress]]


@dataclass(frozen=True, slots=True)
class LookedGroup:
    """A page of a group, of one moment."""

    page: Sequence[Suspended]
    number: int
    names: Mapping[str, str]


async def reviews_page(visit: Visit) -> Response:
    """The groups: those of one's own teams first, others on request."""
    asked = visit.request.query_params.get("team", "")
    chosen = asked if asked in {*Team, ALL_TEAMS} else ""
    own = teams_of(visit.person.roles)
    shown = {Team(chosen)} if chosen in set(Team) else (own if own and not chosen else frozenset(Team))
    looked = await visit.console.store.look(_looked)
    rows = group_rows((group for group in looked.groups if group.team in shown), times_of(visit))
    tabs = [("", "reviews.my_team")] if own else []
    tabs += [*((team.value, f"team.{team}") for team in Team), (ALL_TEAMS, "reviews.all_teams")]
    return render(
        visit,
        "reviews.html",
        rows=rows,
        going=[bulk_view(order, progress, times_of(visit)) for order, progress in looked.going],
        number=sum(row.number for row in rows),
        tabs=tabs,
        chosen=chosen or ("" if own else ALL_TEAMS),
    )


async def _looked(tx: Transaction) -> LookedDesk:
    groups = [*await tx.review_desk.groups(), *await tx.review_desk.incidents()]
    going = await tx.bulk_orders.going_on()
    return LookedDesk(groups, [(one, await tx.bulk_orders.progress(one.bulk_id)) for one in going])


async def group_page(visit: Visit) -> Response:
    """The claims of one cause, and what may be done to all of them."""
    query = visit.request.query_params
    asked = read_desk(dict(query) | {"only": " ".join(query.getlist("only"))})
    after, wanted = read_desk_place(query), asked.filter(visit.person.login)

    async def look(tx: Transaction) -> LookedGroup:
        page = await tx.review_desk.page(wanted, PAGE + 1, after)
        number = await tx.review_desk.count(wanted)
        return LookedGroup(page, number, {one.login: one.name for one in await tx.people.all()})

    looked = await visit.console.store.look(look)
    times, page = times_of(visit), looked.page
    return render(
        visit,
        "review_group.html",
        asked=asked,
        title=group_title(asked, visit),
        rows=suspended_rows(page[:PAGE], looked.names, times),
        number=looked.number,
        next_page=asked.address(**_after(page[PAGE - 1])) if len(page) > PAGE else "",
        is_first=after is None,
        actions=[action for action in fitting(asked) if visit.may(NEEDS[action])] if looked.number else [],
        all_of=replace(asked, only="").address() if asked.only else "",
        is_at_payer=asked.reason in AT_PAYER_REASONS,
        is_incident=asked.reason == INCIDENT,
    )


def fitting(asked: AskedDesk) -> Sequence[BulkAction]:
    """What may be done to all claims of a group, by its cause: what the payer may have is not sent again."""
    if asked.reason == INCIDENT:
        return [BulkAction.RESOLVE]
    if asked.reason in AT_PAYER_REASONS:
        return [BulkAction.WRITE_OFF]
    return [BulkAction.RESEND, BulkAction.CORRECTED, BulkAction.WRITE_OFF]


def group_title(asked: AskedDesk, visit: Visit) -> str:
    """What a group is called: its cause and its payer."""
    cause = cause_of(asked.reason, asked.category, asked.entry, visit.words)
    return f"{cause} · {asked.payer}" if asked.payer else cause


def _after(last: Suspended) -> dict[str, str]:
    return {"after": last.since.isoformat(), "id": last.claim.claim_id}
