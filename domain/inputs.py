"""Reads a request from process variables, and says by rule number what is wrong with them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from domain.check_digits import holds_personal
from domain.claim import CLAIM_ID_MAX, ClaimId, ClaimIdForm
from domain.decision import RetryRequest
from domain.durations import YEARS
from domain.errors import InvalidInput
from domain.legible import legible
from domain.policy import EmptyError, Policy
from domain.redaction import readable

CLAIM_ID = "claimId"
SUBMISSION_ERROR = "submissionError"
ERROR_CODE = "submissionErrorCode"
RETRY_COUNT = "retryCount"
LAST_SUBMISSION_TIME = "lastSubmissionTime"
DEADLINE = "deadline"
PAYER_ID = "payerId"
VARIABLES = (CLAIM_ID, SUBMISSION_ERROR, ERROR_CODE, RETRY_COUNT, LAST_SUBMISSION_TIME, DEADLINE)

_COUNT_MAX = 2**31 - 1
_CODE = re.compile(r"[A-Za-z]{2,12}:[\w.\-]{1,64}", re.ASCII)
_CODE_MAX = 1_000
_ZONE_NAME = re.compile(r"\[[\w/+\-]{1,40}\]$")
_FORM_MAX = 40
_SIGNS = frozenset(" -+.,:;/_#")
_SMALL, _SMALL_MAX = 1_000_000, 8
_PAYER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\-]{0,63}", re.ASCII)
PAYER_ID_SHAPE = "at most 64 letters, digits and . _ -, without a person's number"
_CLAIM_ID_EXAMPLES = {ClaimIdForm.CLM: "CLM-001-1234567890", ClaimIdForm.REFERENCE: "GUIDE-A17"}


@dataclass(frozen=True, slots=True)
class _Requirement:
    """What a rule asks of a variable, and how to mend one that breaks it."""

    variable: str
    rule: str
    problem: str
    advice: str

    def broken_by(self, value: object, show: Callable[[object], str] | None = None) -> InvalidInput:
        """The error to raise for a value."""
        return InvalidInput(
            f"Variable {self.variable}",
            (show or _shown)(value),
            rule=self.rule,
            problem=self.problem,
            remedy=f"{self.advice}; then retry the incident in Operate.",
        )


def read_request(variables: Mapping[str, object], policy: Policy) -> RetryRequest:
    """Validate the variables under the policy's profile; the first that breaks a rule raises InvalidInput."""
    return RetryRequest(
        claim_id=_claim_id(variables.get(CLAIM_ID), policy),
        submission_error=_submission_error(variables.get(SUBMISSION_ERROR), policy),
        error_code=_error_code(variables.get(ERROR_CODE), policy),
        retry_count=_retry_count(variables.get(RETRY_COUNT), policy),
        last_submission_time=_last_submission_time(variables.get(LAST_SUBMISSION_TIME), policy),
        deadline=read_deadline(variables.get(DEADLINE), policy),
    )


def _claim_id(value: object, policy: Policy) -> ClaimId:
    form = policy.claim_id_form
    if isinstance(value, str) and form.fits(value):
        return ClaimId(value, form)
    raise _Requirement(
        CLAIM_ID,
        rule=policy.profile.rules.claim_id,
        problem=form.asked,
        advice=f"Set claimId to the claim's own id, for example {_CLAIM_ID_EXAMPLES[form]}",
    ).broken_by(value, _shown_claim_id)


def read_claim_id(value: object, policy: Policy) -> ClaimId:
    """The claim that a job is about, in the form that its model or the policy asks for.

    An id that holds a person's number is none.
    """
    holds = isinstance(value, str) and len(value) <= CLAIM_ID_MAX and holds_personal(value)
    return _claim_id("" if holds else value, policy)


def is_payer_id(text: str) -> bool:
    """Whether the text can be a payer's id, and no person's name or number in a sentence."""
    return _PAYER_ID.fullmatch(text) is not None and not holds_personal(text)


def read_payer_id(value: object) -> str:
    """Whom a claim without a file is for; one that was handed in knows it."""
    if isinstance(value, str) and is_payer_id(value):
        return value
    raise _Requirement(
        PAYER_ID,
        rule="SUB_06 payerId",
        problem=f"payerId must be {PAYER_ID_SHAPE}",
        advice="Set payerId to the payer's name in PAYERS_FILE",
    ).broken_by(value, _shown_claim_id)


def _submission_error(value: object, policy: Policy) -> str:
    text = readable(value) if isinstance(value, str) else ""
    if text.strip():
        return text
    assumes_transient = policy.profile.empty_error is EmptyError.ASSUME_TRANSIENT
    if assumes_transient and (value is None or isinstance(value, str)):
        return ""
    raise _Requirement(
        SUBMISSION_ERROR,
        rule=policy.profile.rules.empty_error,
        problem="the error of the failed submission must be a text and must not be empty",
        advice="Set submissionError to the error message of the last submission",
    ).broken_by(value)


def _error_code(value: object, policy: Policy) -> str | None:
    code = legible(value).strip() if isinstance(value, str) and len(value) <= _CODE_MAX else value
    if code is None or code == "":
        return None
    if isinstance(code, str) and _CODE.fullmatch(code):
        return code
    raise _Requirement(
        ERROR_CODE,
        rule=policy.profile.rules.empty_error,
        problem="a structured error code is SCHEME:CODE",
        advice="Set submissionErrorCode to a code such as TISS:3160 or HTTP:503, or remove it",
    ).broken_by(value)


def _retry_count(value: object, policy: Policy) -> int:
    if value is None:
        return 0
    # JSON has one kind of number: 2 may arrive as 2.0
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(whole, int) and not isinstance(whole, bool) and 0 <= whole <= _COUNT_MAX:
        return whole
    end = policy.limits.max_retries
    raise _Requirement(
        RETRY_COUNT,
        rule=policy.profile.rules.retry_count,
        problem=f"retryCount must be a whole number, 0 or more; {end} retries are the end",
        advice=_count_advice(value),
    ).broken_by(value)


def _count_advice(value: object) -> str:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 4:
        return f"Set retryCount to the number {int(value)}, without quotes"
    return "Set retryCount to the number of retries already made, 0 for the first failure"


def _last_submission_time(value: object, policy: Policy) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, str) and (time := _instant(value, policy.zone)):
        return time
    raise _Requirement(
        LAST_SUBMISSION_TIME,
        rule=policy.profile.rules.last_submission_time,
        problem="lastSubmissionTime must be an ISO 8601 date and time, or null",
        advice="Set lastSubmissionTime to a time such as 2025-01-12T10:40:00-03:00, or to null",
    ).broken_by(value, _shown_kind)


def read_deadline(value: object, policy: Policy) -> datetime | None:
    """When the claim must be with its payer; None for no deadline."""
    if value is None:
        return None
    if isinstance(value, str) and (time := _instant(value, policy.zone)):
        return time.replace(microsecond=0)
    raise _Requirement(
        DEADLINE,
        rule=policy.profile.rules.deadline,
        problem="deadline must be an ISO 8601 date and time, or null for none",
        advice="Set deadline to a time such as 2025-01-14T10:40:00-03:00, or to null",
    ).broken_by(value, _shown_kind)


def _instant(text: str, zone: tzinfo) -> datetime | None:
    if len(text) > 80 or ":" not in text:
        return None
    try:
        time = datetime.fromisoformat(_ZONE_NAME.sub("", text))
        moment = (time if time.tzinfo else time.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if moment.year in YEARS else None


def _shown(value: object) -> str:
    """What was given, for people: its kind and its form, never a text, which may name a person."""
    match value:
        case None:
            return "missing or null"
        case bool():
            return str(value)
        case int() | float():
            return _shown_number(value)
        case str():
            return f'a text of the form "{form_of(value)}"' if value.strip() else "an empty text"
        case _:
            return f"a {type(value).__name__}"


def _shown_number(value: float) -> str:
    if abs(value) < _SMALL and len(str(value)) <= _SMALL_MAX:
        return str(value)
    return "a negative number" if value < 0 else "a number too large"


def form_of(text: str) -> str:
    """Letters as `a`, digits as `#`; what is left of a date or a number written otherwise tells its fault."""
    start = "".join(map(_mark, text[:_FORM_MAX]))
    return start if len(text) <= _FORM_MAX else f"{start}…"


def _mark(letter: str) -> str:
    if letter.isdigit():
        return "#"
    return letter if letter in _SIGNS else "a"


def _shown_kind(value: object) -> str:
    """What was given where no number belongs: it may be a person's, whatever its size."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "a number" if is_number else _shown(value)


def _shown_claim_id(value: object) -> str:
    """What was given for a claim's id: not even its form, which people take for the id."""
    is_text = isinstance(value, str) and value.strip()
    return "a text of another form" if is_text else _shown_kind(value)
