"""The shape of a policy file, for pydantic: types, ranges and unknown keys are checked here."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from domain.catalog import Category, ErrorClassification, Team
from domain.claim import ClaimIdForm
from domain.limit_rules import LimitRule
from domain.policy import EmptyError, GiveUp, Shape


def _is_reason(text: str) -> str:
    if "{attempt}" not in text or "{limit}" not in text:
        raise ValueError("a reason names {attempt} and {limit}")
    return text


def _is_entry(text: str) -> str:
    if not re.fullmatch(r"[^\W_][\w \-]{2,59}|[A-Z]{2,12}:[\w.\-]{1,60}", text):
        raise ValueError("an entry is a word of 3 letters or more, or SCHEME:CODE")
    return text


Name = Annotated[str, StringConstraints(pattern=r"^[\w.\-]{1,40}$")]
Word = Annotated[str, StringConstraints(pattern=r"^[^\W_][\w \-]{2,59}$")]
Codes = list[Annotated[str, StringConstraints(pattern=r"^\d{3,4}(-\d{3,4})?$")]]
Digits = list[Annotated[str, StringConstraints(pattern=r"^\d{1,2}$")]]
Symbols = list[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]{2,60}$")]]
Entries = list[Annotated[str, AfterValidator(_is_entry)]]
Minutes = Annotated[float, Field(allow_inf_nan=False, ge=0, le=525_600)]
Line = Annotated[str, StringConstraints(pattern=r"^[^\n\r]{1,200}$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LimitsPart(_Part):
    """`[limits]`: minutes may have a fraction, seconds are whole."""

    max_retries: Annotated[int, Field(strict=True)]
    base_minutes: Minutes
    min_minutes: Minutes
    max_minutes: Minutes
    factor: Annotated[int, Field(strict=True)] = 2
    jitter_percent: Annotated[int, Field(strict=True)] = 20
    reserve_minutes: Minutes = 240


class LimitsChange(_Part):
    """Some of the limits, for a payer or a BPMN element."""

    max_retries: Annotated[int, Field(strict=True)] | None = None
    base_minutes: Minutes | None = None
    min_minutes: Minutes | None = None
    max_minutes: Minutes | None = None
    factor: Annotated[int, Field(strict=True)] | None = None
    jitter_percent: Annotated[int, Field(strict=True)] | None = None
    reserve_minutes: Minutes | None = None


class ExpectationsPart(_Part):
    """`[expectations]`: what the business states about outages and targets."""

    outage_minutes: tuple[Annotated[int, Field(gt=0)], ...] = (60, 120, 240)
    resend_window_hours: Annotated[int, Field(gt=0)] = 48
    recovered_percent: Annotated[float, Field(ge=0, le=100)] = 85.0
    lost_percent: Annotated[float, Field(ge=0, le=100)] = 3.0
    mean_attempts: Annotated[float, Field(ge=1)] = 1.2
    minutes_to_success: Annotated[int, Field(gt=0)] = 60
    mean_wait_alarm_minutes: Annotated[int, Field(gt=0)] = 30

    @model_validator(mode="before")
    @classmethod
    def _ttl_stands_elsewhere(cls, given: object) -> object:
        if isinstance(given, dict) and "idempotency_ttl_hours" in given:
            raise ValueError(
                "idempotency_ttl_hours is set by IDEMPOTENCY_TTL_HOURS in the environment: take it out"
            )
        return given


class RulesPart(_Part):
    """`[profiles.NAME.rules]`: the rule number to name when an input is rejected."""

    claim_id: Line
    empty_error: Line
    retry_count: Line
    last_submission_time: Line
    deadline: Line = "BIL-005 10.1"


class ProfilePart(_Part):
    """`[profiles.NAME]`: where one rule differs from the other."""

    shape: Shape
    unknown: Literal[ErrorClassification.UNKNOWN, ErrorClassification.UNKNOWN_TRANSIENT]
    empty_error: EmptyError
    reason: Annotated[Line, AfterValidator(_is_reason)]
    rules: RulesPart


class CategoryPart(_Part):
    """`[categories.NAME]`: one kind of error."""

    class_: Annotated[Literal["permanent", "transient"], Field(alias="class")]
    meaning: str = ""
    team: Team | None = None
    words: list[Word] = []
    tiss: Codes = []
    http: Codes = []
    faults: Symbols = []
    soap: Symbols = []
    net: Symbols = []
    cancel: Digits = []
    ambiguous: list[str] = []

    @model_validator(mode="after")
    def _only_what_is_permanent_has_a_team(self) -> "CategoryPart":
        if self.team and self.class_ == "transient":
            raise ValueError(
                f"a transient category has no team: spent retries reach {Team.BILLING_MANAGEMENT}"
            )
        return self

    def category(self, name: str) -> Category:
        """The domain's category; fault words are recognised in the error text, too."""
        return Category(
            name=name,
            permanent=self.class_ == "permanent",
            meaning=self.meaning,
            words=(*self.words, *self.faults),
            codes=self._codes(),
            ambiguous=tuple(self.ambiguous),
            team=self.team,
        )

    def _codes(self) -> tuple[str, ...]:
        return (
            *(f"TISS:{code}" for code in _expanded(self.tiss)),
            *(f"HTTP:{code}" for code in _expanded(self.http)),
            *(f"FAULT:{word}" for word in self.faults),
            *(f"SOAP:{word}" for word in self.soap),
            *(f"NET:{word}" for word in self.net),
            *(f"CANCEL:{status}" for status in self.cancel),
        )


class ClassificationPart(_Part):
    """`[classification]`: what holds for all categories."""

    unknown_code_is_permanent: list[Name] = []


class PayerPart(_Part):
    """`[payers.ID]`: what is different for one payer."""

    leaves: list[LimitRule] = []
    limits: LimitsChange = LimitsChange()
    also_permanent: Entries = []
    also_transient: Entries = []


class PolicyFile(_Part):
    """A whole policy file."""

    version: Annotated[str, StringConstraints(pattern=r"^[\w.\-]{1,40}$")]
    profile: Name
    zone: str
    jitter_key: Annotated[str, StringConstraints(pattern=r"^[ -~]{1,64}$")]
    on_give_up: GiveUp = GiveUp.THROW
    claim_id_form: ClaimIdForm = ClaimIdForm.CLM
    leaves: list[LimitRule] = []
    limits: LimitsPart
    expectations: ExpectationsPart = ExpectationsPart()
    profiles: dict[Name, ProfilePart]
    classification: ClassificationPart = ClassificationPart()
    categories: dict[Name, CategoryPart]
    payers: dict[Name, PayerPart] = {}


def _expanded(codes: list[str]) -> list[str]:
    spans = [(int(first), int(last or first)) for first, _, last in (code.partition("-") for code in codes)]
    return [str(code) for first, last in spans for code in range(first, last + 1)]
