"""A decision on its way into memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from domain.decision import Decision, Retry
from domain.policy import Policy
from domain.standing import HeldJob
from persistence.repositories.free_texts import FreeText


@dataclass(frozen=True, slots=True)
class DecisionDraft:
    """What was decided for which job, with what, and the answer the job gets.

    `elapsed_ms` tells how long the job has taken when its audit events are written. `free_text` is the
    error in the model's own words, where the decision does not tell it. `job` is how the engine knows it.
    """

    job_key: int
    process_instance_key: int
    asked_count: int
    decision: Decision
    policy: Policy
    result: dict[str, Any]
    elapsed_ms: Callable[[], int]
    free_text: FreeText | None = None
    job: HeldJob | None = None

    @property
    def claim_id(self) -> str:
        """The claim it is about."""
        return str(self.decision.claim_id)

    @property
    def retry(self) -> Retry | None:
        """The decision when it is to retry."""
        return self.decision if isinstance(self.decision, Retry) else None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The answer of a job: its own, or the one it was given before."""

    result: dict[str, Any]
    is_new: bool
