"""What is asked and answered over HTTP, as shapes: the description that is served is made of them."""

from datetime import date, datetime
from typing import Annotated, Self

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from domain.claim_state import ClaimState
from domain.operators import REASON_MAX
from domain.outputs import iso_time
from domain.payer_status import PayerState
from domain.practice import is_made_up
from persistence.repositories.claim_lists import ListedState, ListOrder
from persistence.repositories.claims import ClaimRow
from workers.payers.status import PayerView

Short = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Coming = Annotated[AwareDatetime, BeforeValidator(lambda given: _iso(given, datetime))]
"""Written out: a bare number would be read as seconds since 1970."""
Day = Annotated[
    date, BeforeValidator(lambda given: _iso(given, date)), Field(ge=date(2000, 1, 1), le=date(2999, 12, 31))
]
Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=REASON_MAX)]


class ApiAnswer(BaseModel):
    """Something that is told."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class ApiQuestion(BaseModel):
    """Something that is asked; a name that nobody knows is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)


class ProblemAnswer(ApiAnswer):
    """What was wrong, by which rule, and what to do."""

    field: str | None
    rule: str | None
    remedy: str | None
    message: str


class ReceivedAnswer(ApiAnswer):
    """What became of a file."""

    claim_id: str
    state: ClaimState
    new: bool
    sealed_anew: bool = False


class ClaimAnswer(ApiAnswer):
    """A claim, without anybody's data."""

    claim_id: str
    payer_id: str | None
    state: ClaimState
    retry_count: int
    next_retry_time: Moment | None
    deadline: Moment | None
    batch_number: str | None
    protocol_number: str | None
    practice: bool
    reason: str | None

    @classmethod
    def of(cls, row: ClaimRow) -> Self:
        """As it stands on record."""
        return cls(
            claim_id=row.claim_id,
            payer_id=row.payer_id,
            state=row.state,
            retry_count=row.retry_count,
            next_retry_time=_moment(row.next_retry_time),
            deadline=_moment(row.deadline),
            batch_number=row.batch_number,
            protocol_number=row.protocol_number,
            practice=is_made_up(row.protocol_number),
            reason=row.reason,
        )


class ClaimsAnswer(ApiAnswer):
    """Some claims, and where the next ones begin; `next` is null after the last."""

    claims: list[ClaimAnswer]
    next: str | None


class ReviewAnswer(ClaimAnswer):
    """A claim that waits for people, and for which team."""

    team: str | None


class ReviewsAnswer(ApiAnswer):
    """Some claims in review, and where the next ones begin."""

    reviews: list[ReviewAnswer]
    next: str | None


class PayerAnswer(ApiAnswer):
    """A payer's state, and what waits for it."""

    payer_id: str
    state: PayerState
    since: Moment
    why: str
    next_try_at: Moment | None
    waiting: int
    under_way: int
    at_once: int
    per_minute: int | None

    @classmethod
    def of(cls, view: PayerView) -> Self:
        """As it stands now."""
        status, limits = view.status, view.limits
        return cls(
            payer_id=status.payer_id,
            state=status.state,
            since=iso_time(status.changed_at),
            why=view.why,
            next_try_at=_moment(status.next_try_at),
            waiting=view.waiting,
            under_way=view.in_flight,
            at_once=limits.at_once,
            per_minute=limits.per_minute,
        )


class PayersAnswer(ApiAnswer):
    """All payers that are configured or were ever sent to."""

    payers: list[PayerAnswer]


class KpisAnswer(ApiAnswer):
    """The scorecard, as `reenvio kpi --json` prints it."""

    payer: str | None
    zone: str
    kpis: list[dict[str, object]]
    periods: list[dict[str, object]]


class ClaimQuery(ApiQuestion):
    """Which claims."""

    state: ListedState | None = None
    payer: Short | None = None
    due_before: Coming | None = None
    text: Short | None = None
    order: ListOrder = ListOrder.NEWEST
    limit: int = Field(default=100, ge=1, le=500)
    after: Short | None = None


class ReviewQuery(ApiQuestion):
    """Which reviews."""

    team: Short | None = None
    payer: Short | None = None
    limit: int = Field(default=100, ge=1, le=500)
    after: Short | None = None


class KpiQuery(ApiQuestion):
    """Of which days and whom; without days the last day and the last week that are over."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: Day | None = Field(default=None, alias="from")
    last: Day | None = Field(default=None, alias="to")
    payer: Short | None = None


class SubmitQuery(ApiQuestion):
    """What is not in the file, or wins over it; read by the intake, which refuses in its own words."""

    payer: str | None = None
    deadline: str | None = None
    claim_id: str | None = None


class NoQuery(ApiQuestion):
    """No parameter."""


class ReasonedOrder(ApiQuestion):
    """Why something is ordered; who orders it is known by the token."""

    reason: Reason


class CancelOrder(ReasonedOrder):
    """`althoughSent`: also a claim whose payer may have it."""

    although_sent: bool = False


class DeadlineOrder(ReasonedOrder):
    """A moment with or without an offset, a duration such as `48h`, or `none`."""

    deadline: Short


class PauseOrder(ReasonedOrder):
    """Without `until` it lasts until it is resumed."""

    until: Coming | None = None


def _iso(given: object, kind: type[date]) -> date:
    if not isinstance(given, str):
        raise ValueError("a text such as 2026-03-01T12:00:00-03:00 is needed")  # noqa: TRY004  # pydantic's word
    return kind.fromisoformat(given)


def _moment(at: datetime | None) -> str | None:
    return iso_time(at) if at else None
