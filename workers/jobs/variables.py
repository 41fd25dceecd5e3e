"""What every job's variables must look like before a handler sees them: ids have shapes, texts are ours."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bpmn.names import JobType, Variable
from domain.check_digits import holds_personal
from domain.claim import CLAIM_ID_SHAPE, is_claim_id, is_reference
from domain.inputs import PAYER_ID_SHAPE, is_payer_id
from domain.policy import Policy
from domain.redaction import readable
from domain.reviews import ReviewReason
from gateways.tiss.answers import is_protocol
from gateways.tiss.glosas import glosa_meaning
from persistence.store import Transaction
from workers.jobs.payer_words import told
from workers.jobs.services import Services
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Incident, Outcome

DECIDING = (JobType.RETRY_SUBMISSION_BACKOFF, JobType.ANALYZE_RETRY)
"""They read their own variables by the rules' numbers, and keep what they reject in the audit trail."""
BY_OWN_RULES: Mapping[str, frozenset[str]] = {
    JobType.SUBMIT_CLAIM: frozenset({Variable.CLAIM_ID, Variable.PAYER_ID})
}
"""What a handler reads and rejects by itself, as those that decide do."""
_TISS = re.compile(r"\(TISS:([0-9]{4})\)")
_NUMBER = r"[0-9]{1,10}"
REASON_MAX = 1_000
VARIABLE_REMEDY = "Correct the variable in Operate, then retry."


@dataclass(frozen=True, slots=True)
class _Shape:
    fits: Callable[[str], bool]
    asked: str


def _is_id(text: str) -> bool:
    return (is_claim_id(text) or is_reference(text)) and not holds_personal(text)


SHAPES: Mapping[str, _Shape] = {
    Variable.CLAIM_ID: _Shape(_is_id, f"a claim's own id, {CLAIM_ID_SHAPE}, without a person's number"),
    Variable.PAYER_ID: _Shape(is_payer_id, PAYER_ID_SHAPE),
    Variable.PROTOCOL_NUMBER: _Shape(is_protocol, "at most 12 letters, digits and . / _ -"),
    Variable.REVIEW_REASON: _Shape(set(ReviewReason).__contains__, f"one of {', '.join(ReviewReason)}"),
}


def guarded(handler: JobHandler, services: Services) -> JobHandler:
    """The handler; what does not fit is an incident that names the variable and never its value."""
    if handler.type in DECIDING:
        return handler

    async def handle(job: Job) -> Outcome:
        if wrong := _misshapen(job.variables, BY_OWN_RULES.get(handler.type, frozenset())):
            return Incident(f"{job.type}: {wrong}. {VARIABLE_REMEDY}")
        return await handler.handle(replace(job, variables=await _in_own_words(job.variables, services)))

    return replace(handler, handle=handle)


def _misshapen(variables: Mapping[str, Any], left_out: Collection[str]) -> str | None:
    for name, shape in SHAPES.items():
        given = variables.get(name)
        if name not in left_out and isinstance(given, str) and not shape.fits(given):
            return f"variable {name} must be {shape.asked}"
    return None


async def _in_own_words(given: Mapping[str, Any], services: Services) -> dict[str, Any]:
    """The variables, with nothing but our own words in those that are texts for people."""
    own, policy = dict(given), services.policy()
    if isinstance(error := own.get(Variable.SUBMISSION_ERROR), str) and error:
        own[Variable.SUBMISSION_ERROR] = await _own_error(readable(error), given, services)
    if isinstance(reason := own.get(Variable.RETRY_REASON), str) and not is_reason(reason, policy):
        own[Variable.RETRY_REASON] = None
    return own


async def _own_error(error: str, given: Mapping[str, Any], services: Services) -> str:
    """What our own record of the claim's last send says of the same error; else what may be told of it."""
    payer, code = (given.get(name) for name in (Variable.PAYER_ID, Variable.SUBMISSION_ERROR_CODE))
    catalog = services.policy().for_payer(payer if isinstance(payer, str) else None).catalog
    outward = told(catalog, error, code if isinstance(code, str) else None)
    last = await services.store.look(partial(_last_failure, claim_id=str(given.get(Variable.CLAIM_ID))))
    if last and told(catalog, *last) == outward:
        return last[0]
    return explained(outward)


async def _last_failure(tx: Transaction, *, claim_id: str) -> tuple[str, str | None] | None:
    sends = (await tx.attempts.history(claim_id)).sends
    facts = sends[-1].result if sends else None
    return (facts["error"], facts.get("code")) if facts and "error" in facts else None


def explained(rendered: str) -> str:
    """What is told of an error, with the standard's own words for its code."""
    code = _TISS.search(rendered)
    return f"{rendered}: {glosa_meaning(code[1])}" if code else rendered


def is_reason(text: str, policy: Policy) -> bool:
    """Whether the text is a reason as decisions give it."""
    return len(text) <= REASON_MAX and re.fullmatch(_reasons(policy), text) is not None


def _reasons(policy: Policy) -> str:
    categories = "|".join(re.escape(category.name) for category in policy.catalog.categories)
    moment, minutes = r"[0-9TZ:\-]{20}", rf"{_NUMBER}(?:\.{_NUMBER})? min"
    retries = "|".join(_with_numbers(profile.reason) for profile in policy.profiles.values())
    reasons = (
        rf"(?:{retries})(?:, moved up to leave {minutes} before the deadline {moment})?",
        rf"Permanent error (?:{categories}|UNKNOWN_REFUSAL|ALSO_PERMANENT), no retry",
        rf"Maximum of {_NUMBER} retries exceeded",
        rf"Deadline {moment} has passed",
        rf"Deadline {moment} leaves no time for a retry: the last {minutes} are kept for a person",
    )
    return rf"(?:{'|'.join(reasons)})(?: \(leaves [A-Z0-9, \-]{{1,80}}\))?"


def _with_numbers(template: str) -> str:
    escaped = re.escape(template)
    return escaped.replace(r"\{attempt\}", _NUMBER).replace(r"\{limit\}", _NUMBER)
