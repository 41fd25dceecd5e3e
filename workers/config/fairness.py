"""Fairness between companies, and the limits at which mail leaves."""

import re
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import NoDecode, SettingsConfigDict

from domain.mail.fairness import FairnessTerms, weights_by_tier
from domain.mail.limits import MailLimits
from workers.config.mail import COMPANY_ID
from workers.config.topic import Topic, read_json

Limit = Annotated[int, Field(ge=1, le=1_000_000)]


class OwnLimits(BaseModel):
    """One company's own limits; what is not given is as for the others."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    per_minute: Limit | None = None
    at_once: Limit | None = None


def _are_companies(given: dict[str, Any]) -> dict[str, Any]:
    """A name that no company can have would be a limit of nobody, in silence."""
    if odd := sorted(name for name in given if not re.fullmatch(COMPANY_ID, name)):
        raise ValueError(f"{', '.join(odd)[:100]!r} can be no company's id: letters, digits, . _ and - alone")
    return given


Weight = Annotated[float, Field(ge=0.001, le=1_000)]
WeightByTier = Annotated[dict[str, Weight], NoDecode, BeforeValidator(read_json)]
TierByCompany = Annotated[
    dict[str, str], NoDecode, BeforeValidator(read_json), AfterValidator(_are_companies)
]
LimitsByCompany = Annotated[
    dict[str, OwnLimits], NoDecode, BeforeValidator(read_json), AfterValidator(_are_companies)
]


class FairnessSettings(Topic):
    """The document's names for the round robin; the limits of mail begin with MAIL_."""

    model_config = SettingsConfigDict(env_prefix="MAIL_")

    enabled: bool = Field(default=True, validation_alias="ENABLE_ROUND_ROBIN")
    batch: int = Field(default=3, ge=1, le=1_000, validation_alias="MAX_JOBS_PER_TENANT_BATCH")
    base_priority: int = Field(default=5, ge=1, validation_alias="ROUND_ROBIN_BASE_PRIORITY")
    step: int = Field(default=1, ge=0, validation_alias="PRIORITY_INCREMENT_PER_ROUND")
    top_priority: int = Field(default=1, ge=1, validation_alias="MAX_ROUND_ROBIN_PRIORITY")
    tier_weights: WeightByTier = Field(default={})
    tiers: TierByCompany = Field(default={})
    at_once: Limit = 5
    per_minute: Limit = 100
    burst: Limit | None = None
    company_at_once: Limit = 5
    company_per_minute: Limit = 100
    company_limits: LimitsByCompany = Field(default={})

    @field_validator("top_priority")
    @classmethod
    def _is_more_urgent(cls, top: int, given: ValidationInfo) -> int:
        if top > given.data.get("base_priority", top):
            raise ValueError("1 is the most urgent: it is no more than ROUND_ROBIN_BASE_PRIORITY")
        return top

    @field_validator("tiers")
    @classmethod
    def _have_weights(cls, tiers: dict[str, str], given: ValidationInfo) -> dict[str, str]:
        weights_by_tier(tiers, given.data.get("tier_weights", dict.fromkeys(tiers.values(), 1.0)))
        return tiers

    @field_validator("burst")
    @classmethod
    def _is_within_the_minute(cls, burst: int | None, given: ValidationInfo) -> int | None:
        if burst and burst > given.data.get("per_minute", burst):
            raise ValueError("a burst is no more than MAIL_PER_MINUTE")
        return burst

    def terms(self) -> FairnessTerms:
        """Whose turn it is."""
        weights = weights_by_tier(self.tiers, self.tier_weights)
        return FairnessTerms(
            self.enabled, self.batch, self.base_priority, self.step, self.top_priority, weights
        )

    def overall(self) -> MailLimits:
        """The limits of all mail together."""
        return MailLimits(self.per_minute, self.at_once, self.burst)

    def per_company(self) -> MailLimits:
        """The limits of one company's mail."""
        return MailLimits(self.company_per_minute, self.company_at_once)

    def own(self) -> dict[str, MailLimits]:
        """The limits of companies that have their own."""
        usual = self.per_company()
        return {
            company: MailLimits(own.per_minute or usual.per_minute, own.at_once or usual.at_once)
            for company, own in self.company_limits.items()
        }
