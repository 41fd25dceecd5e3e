"""The one way to a decision, for workers and for the command line alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from domain.decision import Decision, Retry, decide
from domain.inputs import read_request
from domain.outputs import bpmn_error, output_variables
from domain.policy import GiveUp, Policy
from workers.policy.overrides import effective_policy
from workers.runtime.outcome import Complete, Throw


@dataclass(frozen=True, slots=True)
class Question:
    """What a decision is asked about: process variables, task headers, payer."""

    variables: Mapping[str, object]
    headers: Mapping[str, str]
    payer_id: str | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision and the policy that it was made with."""

    asked_count: int
    decision: Decision
    policy: Policy


def rule(question: Question, policy: Policy, now: datetime) -> Ruling:
    """Narrow the policy, read the variables, decide; what does not fit raises InvalidInput."""
    narrowed = effective_policy(policy, question.payer_id, question.headers)
    request = read_request(question.variables, narrowed)
    return Ruling(request.retry_count, decide(request, narrowed, now), narrowed)


def outcome_of(ruling: Ruling) -> Complete | Throw:
    """What the process gets: variables, or a BPMN error unless the model asked for a plain answer."""
    decision, policy = ruling.decision, ruling.policy
    if isinstance(decision, Retry) or policy.on_give_up is GiveUp.RETURN:
        return Complete(output_variables(decision, policy.profile))
    error = bpmn_error(decision)
    return Throw(error.code, error.message, error.variables)
