"""The desk of suspended claims: groups by cause, and the claims of one."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from urllib.parse import urlencode

from domain.access import Role
from domain.catalog import Team
from domain.claim import ClaimIdForm
from domain.legible import printable_line
from domain.reviews import ReviewReason
from persistence.repositories.review_desk import (
    BY_DEADLINE,
    INCIDENT,
    DeskFilter,
    DeskPlace,
    ReviewGroup,
    Suspended,
)
from workers.console.views.claim_list import title_of
from workers.console.views.reasons import category_name, error_sentence, review_cause
from workers.console.views.states import is_at_risk, team_name
from workers.console.views.times import Said, Times, read_moment
from workers.console.views.today import RISK
from workers.console.words import Words

TEXT_MOST, QUERY_MOST = 200, 8_000
CHOSEN_MOST = 50
"""As many as a page shows."""
NOBODY = "-"
ALL_TEAMS = "all"
TEAM_OF: Mapping[Role, Team] = {
    Role.REGISTRATION: Team.REGISTRATION,
    Role.BILLING: Team.BILLING_MANAGEMENT,
    Role.BILLING_MANAGEMENT: Team.BILLING_MANAGEMENT,
    Role.OPERATIONS: Team.OPERATIONS,
}
"""Whose work somebody sees first; quality, and who watches, see everybody's."""


@dataclass(frozen=True, slots=True)
class AskedDesk:
    """Which suspended claims an address asks for; `only` are ids of some that were chosen one by one."""

    team: str = ""
    reason: str = ""
    category: str = ""
    entry: str = ""
    payer: str = ""
    mine: str = ""
    only: str = ""

    def address(self, path: str = "/reviews/group", **more: str) -> str:
        """Where the same is found again."""
        given = {one.name: getattr(self, one.name) for one in fields(self)} | more
        kept = {name: value for name, value in given.items() if value}
        return f"{path}?{urlencode(kept)}" if kept else path

    def filter(self, login: str) -> DeskFilter:
        """The same for the database; `login` is of who asks."""
        return DeskFilter(
            team=self.team or None,
            reason=self.reason or None,
            category=self.category or None,
            entry=self.entry or None,
            payer_id=self.payer or None,
            assignee=login if self.mine else None,
            claim_ids=frozenset(self.only.split()) if self.only else None,
        )


def read_desk(query: Mapping[str, str]) -> AskedDesk:
    """What an address asks for."""
    given = {
        one.name: printable_line(query.get(one.name, ""))[:TEXT_MOST].strip() for one in fields(AskedDesk)
    }
    return AskedDesk(
        **(given | {"mine": "1" if given["mine"] else "", "only": _chosen(query.get("only", ""))})
    )


def _chosen(text: str) -> str:
    """Ids that may be claims'; where none is, none is meant, and not the whole group."""
    ids = [one for one in text.split() if any(form.fits(one) for form in ClaimIdForm)]
    return " ".join(ids[:CHOSEN_MOST]) or (NOBODY if text.strip() else "")


def read_desk_place(query: Mapping[str, str]) -> DeskPlace | None:
    """Where the page before ended."""
    moment = read_moment(query.get("after", ""))
    return DeskPlace(moment, printable_line(query.get("id", ""))[:TEXT_MOST]) if moment else None


def teams_of(roles: Collection[Role]) -> frozenset[Team]:
    """Whose work somebody does; empty for who does none."""
    return frozenset(TEAM_OF[role] for role in roles if role in TEAM_OF)


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One cause at one payer."""

    cause: str
    payer: str
    team: str
    number: int
    assigned: int
    oldest: Said | None
    deadline: Said | None
    is_at_risk: bool
    link: str


def group_rows(groups: Iterable[ReviewGroup], times: Times) -> Sequence[GroupRow]:
    """The most urgent first: at risk, then by number."""
    rows = [_group(group, times) for group in groups]
    return sorted(rows, key=lambda row: (not row.is_at_risk, -row.number, row.payer, row.cause))


def _group(group: ReviewGroup, times: Times) -> GroupRow:
    deadline = group.nearest_deadline
    behind = {"team": group.team, "reason": group.reason, "payer": group.payer_id}
    cause = {"category": group.category or "", "entry": group.entry or ""}
    return GroupRow(
        cause=cause_of(group.reason, group.category, group.entry, times.words),
        payer=group.payer_id,
        team=team_name(group.team, times.words),
        number=group.number,
        assigned=group.assigned,
        oldest=times.ago(group.oldest) if group.oldest else None,
        deadline=times.left(deadline) if deadline else None,
        is_at_risk=deadline is not None and deadline < times.now + RISK,
        link=AskedDesk(**(behind | cause)).address(),
    )


def cause_of(reason: str, category: str | None, entry: str | None, words: Words) -> str:
    """Why claims wait, as a sentence."""
    if reason == INCIDENT:
        return words("review.incident")
    if reason == ReviewReason.PERMANENT_ERROR and entry and category:
        return error_sentence(category, entry, words)
    if reason == ReviewReason.PERMANENT_ERROR:
        return category_name(category, words) if category else words("review.PERMANENT_ERROR")
    return review_cause(BY_DEADLINE if category == BY_DEADLINE else reason, None, words)


@dataclass(frozen=True, slots=True)
class SuspendedRow:
    """One claim of a group."""

    claim_id: str
    title: str
    payer: str
    since: Said
    deadline: Said | None
    is_at_risk: bool
    assignee: str
    may_be_at_payer: bool


def suspended_rows(
    page: Iterable[Suspended], names: Mapping[str, str], times: Times
) -> Sequence[SuspendedRow]:
    """The rows of a page; `names` are people's by their logins."""
    return [_suspended(one, names, times) for one in page]


def _suspended(one: Suspended, names: Mapping[str, str], times: Times) -> SuspendedRow:
    claim = one.claim
    return SuspendedRow(
        claim_id=claim.claim_id,
        title=title_of(claim, times.words),
        payer=claim.payer_id,
        since=times.ago(one.since),
        deadline=times.left(claim.deadline) if claim.deadline else None,
        is_at_risk=is_at_risk(claim, times.now + RISK),
        assignee=names.get(one.assignee, one.assignee) if one.assignee else "",
        may_be_at_payer=one.may_be_at_payer,
    )
