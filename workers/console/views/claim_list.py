"""A list of claims: what was asked for, by its address, and one row per claim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from urllib.parse import urlencode

from domain.claim_state import ClaimState
from domain.decision import Cause
from domain.legible import printable_line
from domain.payer_status import PayerState
from domain.reviews import ReviewReason
from persistence.repositories.claim_lists import ClaimFilter, ListedState, ListOrder, ListPlace
from persistence.repositories.claims import ClaimRow
from persistence.repositories.decisions import StoredDecision
from workers.console.views.reasons import error_sentence, review_cause
from workers.console.views.shapes import StateView
from workers.console.views.states import Circumstances, claim_state, is_at_risk
from workers.console.views.times import Said, Times, read_moment
from workers.console.views.today import RISK
from workers.console.words import Words

TEXT_MOST = 128


@dataclass(frozen=True, slots=True)
class AskedList:
    """What the address asks for; what it does not understand does not narrow."""

    state: str = ""
    payer: str = ""
    team: str = ""
    reason: str = ""
    category: str = ""
    risk: str = ""
    text: str = ""
    order: str = ListOrder.NEWEST

    @property
    def is_narrowed(self) -> bool:
        """Whether anything is asked for but the order."""
        return replace(self, order=ListOrder.NEWEST) != AskedList()

    def address(self, path: str = "/claims", **more: str) -> str:
        """Where the same is found again."""
        usual = AskedList()
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        kept = {name: value for name, value in given.items() if value != getattr(usual, name)} | more
        return f"{path}?{urlencode(kept)}" if kept else path

    def filter(self, now: datetime) -> ClaimFilter:
        """The same for the database."""
        return ClaimFilter(
            state=ListedState(self.state) if self.state else None,
            payer_id=self.payer or None,
            team=self.team or None,
            reason=self.reason or None,
            category=self.category or None,
            due_before=now + RISK if self.risk else None,
            text=self.text or None,
        )


def read_asked(query: Mapping[str, str]) -> AskedList:
    """What an address asks for."""
    given = {
        one.name: printable_line(query.get(one.name, ""))[:TEXT_MOST].strip() for one in fields(AskedList)
    }
    if given["state"] not in set(ListedState):
        given["state"] = ""
    if given["order"] not in set(ListOrder):
        given["order"] = ListOrder.NEWEST
    return AskedList(**(given | {"risk": "1" if given["risk"] else ""}))


def categories(words: Words) -> Sequence[tuple[str, str]]:
    """The kinds of errors that have words, by these."""
    named = {name.removeprefix("category."): text for name, text in words.texts.items()}
    found = [(name, text) for name, text in named.items() if words.knows(f"category.{name}")]
    return sorted((one for one in found if one[0] != "other"), key=lambda one: one[1])


def read_place(query: Mapping[str, str]) -> ListPlace | None:
    """Where the page before ended."""
    moment = read_moment(query.get("after", ""))
    claim_id, is_rest = printable_line(query.get("id", ""))[:TEXT_MOST], bool(query.get("rest"))
    return ListPlace(moment, claim_id, is_rest) if moment else None


def place_of(claim: ClaimRow, order: str) -> dict[str, str]:
    """Where a page ends, for the address of the next."""
    by_deadline = order == ListOrder.DEADLINE and claim.deadline is not None and not claim.state.is_final
    moment = claim.deadline if by_deadline else claim.created_at
    place = {"after": moment.isoformat() if moment else "", "id": claim.claim_id}
    return place | ({"rest": "1"} if order == ListOrder.DEADLINE and not by_deadline else {})


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known of the claims of a page beside their rows, by claim."""

    held: Mapping[str, PayerState]
    teams: Mapping[str, str]
    decisions: Mapping[str, StoredDecision]

    def of(self, claim: ClaimRow) -> Circumstances:
        """The circumstances of one."""
        return Circumstances(self.held.get(claim.claim_id), self.teams.get(claim.claim_id))


@dataclass(frozen=True, slots=True)
class ListedClaim:
    """One row."""

    claim_id: str
    title: str
    payer: str
    state: StateView
    reason: str
    deadline: Said | None
    is_at_risk: bool
    attempts: int


def listed(claims: Sequence[ClaimRow], beside: Beside, times: Times) -> Sequence[ListedClaim]:
    """The rows of a page."""
    return [_listed(claim, beside, times) for claim in claims]


def _listed(claim: ClaimRow, beside: Beside, times: Times) -> ListedClaim:
    has_deadline = claim.deadline is not None and not claim.state.is_final
    return ListedClaim(
        claim_id=claim.claim_id,
        title=title_of(claim, times.words),
        payer=claim.payer_id,
        state=_short(claim_state(claim, beside.of(claim), times), times.words),
        reason=reason_of(claim, beside.decisions.get(claim.claim_id), times.words),
        deadline=times.left(claim.deadline) if has_deadline and claim.deadline else None,
        is_at_risk=is_at_risk(claim, times.now + RISK),
        attempts=claim.retry_count,
    )


def _short(state: StateView, words: Words) -> StateView:
    """A list has no room for what happens next."""
    return replace(state, text=words("listed.held")) if state.text == words("state.held") else state


def title_of(claim: ClaimRow, words: Words) -> str:
    """How people call a claim: by its batch, where it has one."""
    return words("claims.batch", number=claim.batch_number) if claim.batch_number else claim.claim_id


def reason_of(claim: ClaimRow, decided: StoredDecision | None, words: Words) -> str:
    """Why the claim stands where it does; nothing for one that goes its way."""
    if claim.incident:
        return words("review.incident")
    if claim.state is ClaimState.IN_REVIEW:
        return _in_review(claim, decided, words)
    if claim.state is ClaimState.WAITING and decided:
        error = error_sentence(decided.error_category, decided.submission_error, words)
        return words("claims.try_of", error=error, n=claim.retry_count, limit=decided.max_retries)
    return ""


def _in_review(claim: ClaimRow, decided: StoredDecision | None, words: Words) -> str:
    if decided is None or claim.reason == ReviewReason.PROTOCOL_MISSING:
        return review_cause(claim.reason, None, words)
    error = error_sentence(decided.error_category, decided.submission_error, words)
    if claim.reason == ReviewReason.PERMANENT_ERROR:
        return error
    by_deadline = decided.cause == Cause.DEADLINE and claim.reason == ReviewReason.MAX_RETRIES_EXCEEDED
    cause = review_cause(Cause.DEADLINE if by_deadline else claim.reason, None, words)
    return f"{cause}: {error}"
