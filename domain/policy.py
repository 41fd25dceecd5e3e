"""The policy a decision is made with: limits, catalog, profile, zone; a value that never changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from enum import StrEnum
from types import MappingProxyType

from domain.backoff import RetryLimits
from domain.catalog import Catalog, ErrorClassification
from domain.claim import ClaimIdForm
from domain.errors import InvalidPolicy
from domain.limit_rules import LimitRule, left_rules


class EmptyError(StrEnum):
    """What an empty error text means."""

    REJECT = "reject"
    ASSUME_TRANSIENT = "assume-transient"


class GiveUp(StrEnum):
    """How a decision not to retry reaches the process."""

    THROW = "throw"
    RETURN = "return"


class Shape(StrEnum):
    """Which rule's outputs and events are given: RN-BIL-004's five variables or RN-BIL-005's eight."""

    SUBMISSION = "submission"
    ANALYSIS = "analysis"

    @property
    def rule(self) -> str:
        """The rule that a profile of this shape follows, whatever the profile's own name."""
        return RULE_OF[self]


RULE_OF: Mapping[Shape, str] = MappingProxyType(
    {Shape.SUBMISSION: "RN-BIL-004", Shape.ANALYSIS: "RN-BIL-005"}
)


@dataclass(frozen=True, slots=True)
class RuleIds:
    """The numbers under which the rule states what an input must be."""

    claim_id: str
    empty_error: str
    retry_count: str
    last_submission_time: str
    deadline: str = "BIL-005 10.1"


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the two rules differ, as data."""

    name: str
    shape: Shape
    unknown: ErrorClassification
    empty_error: EmptyError
    reason: str
    rules: RuleIds


@dataclass(frozen=True, slots=True)
class Expectations:
    """What the business states or hopes for; decides nothing, feeds `policy lint` and `policy plot`."""

    outage_minutes: tuple[int, ...] = (60, 120, 240)
    resend_window_hours: int = 48
    recovered_percent: float = 85.0
    lost_percent: float = 3.0
    mean_attempts: float = 1.2
    minutes_to_success: int = 60
    mean_wait_alarm_minutes: int = 30


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything `decide` needs besides the request and the time."""

    version: str
    fingerprint: str
    limits: RetryLimits
    catalog: Catalog
    profile: Profile
    profiles: Mapping[str, Profile]
    zone: tzinfo
    jitter_key: str
    on_give_up: GiveUp = GiveUp.THROW
    claim_id_form: ClaimIdForm = ClaimIdForm.CLM
    leaves: frozenset[LimitRule] = frozenset()
    expectations: Expectations = Expectations()
    payers: Mapping[str, "Policy"] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def label(self) -> str:
        """Version and content fingerprint: what a decision keeps."""
        return f"{self.version}+{self.fingerprint}"

    @property
    def left_rules(self) -> tuple[LimitRule, ...]:
        """The rules that its limits leave, as its file says by name; every decision says so too."""
        return tuple(rule for rule in left_rules(self.limits) if rule in self.leaves) if self.leaves else ()

    def under(self, profile: str) -> "Policy":
        """The same policy under another of its profiles."""
        if profile == self.profile.name:
            return self
        if profile not in self.profiles:
            raise InvalidPolicy(f'no profile "{profile}": choose one of {", ".join(self.profiles)}')
        return replace(self, profile=self.profiles[profile])

    def for_payer(self, payer_id: str | None) -> "Policy":
        """The payer's own policy under the active profile, or this one when it has none."""
        own = self.payers.get(payer_id or "")
        return own.under(self.profile.name) if own else self
