"""Narrows the policy for one job: the payer's own settings, then the BPMN element's task headers.

| header          | value                            | replaces                                    |
|-----------------|----------------------------------|---------------------------------------------|
| retryProfile    | a profile's name                 | profile                                     |
| maxRetries      | whole number                     | limits.max_retries                          |
| baseMinutes     | number                           | limits.base_minutes                         |
| minMinutes      | number                           | limits.min_minutes                          |
| maxMinutes      | number                           | limits.max_minutes                          |
| backoffFactor   | whole number                     | limits.factor                               |
| jitterPercent   | whole number                     | limits.jitter_percent                       |
| reserveMinutes  | number                           | limits.reserve_minutes                      |
| alsoPermanent   | entries, separated by commas     | adds to, or moves in, the catalog           |
| alsoTransient   | entries, separated by commas     | adds to, or moves in, the catalog           |
| timeZone        | a zone's name                    | zone                                        |
| claimIdForm     | clm or reference                 | claim_id_form                               |
| onEmptyError    | reject or assume-transient       | the profile's empty_error                   |
| onGiveUp        | throw or return                  | on_give_up                                  |

A header may narrow the limits within the critical rules; only the policy file can leave a rule, by name.
Names of others, with a prefix (`io.camunda.zeebe:x`, `hospital.note`) or of Camunda's templates, are left
alone; any other name is a mistake.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from bpmn.names import PolicyHeader
from domain.backoff import RetryLimits
from domain.catalog import PERMANENT_BY_RULE, REFUSED_LOGIN, amend, category_of
from domain.claim import ClaimIdForm
from domain.errors import InvalidInput, InvalidPolicy, plain_words
from domain.inputs import form_of
from domain.limit_rules import LONGEST_SECONDS, SHORTEST_SECONDS, WAITS, LimitBounds, left_bounds
from domain.policy import EmptyError, GiveUp, Policy
from domain.redaction import redact, shorten
from workers.policy.build import LIMITS_IN_SECONDS, change_limits, fingerprint, zone_named
from workers.policy.schema import Entries, LimitsChange

Choice = TypeVar("Choice", ClaimIdForm, EmptyError, GiveUp)
Apply = Callable[[Policy, str], Policy]

RULE = "task headers"
REMEDY = (
    "Correct the header in the model, deploy it, migrate the instance, then let the task begin again, since "
    "a job keeps its headers: in Operate modify the instance, cancel the task's token and add it again; "
    "for our own claims `reenvio claim resolve CLAIM` does it."
)
_WORD = re.compile(r"[\w.,:/+\-]{0,40}")
_TEMPLATE_NAMES = ("elementTemplate", "modelerTemplate")
_ENTRIES: TypeAdapter[list[str]] = TypeAdapter(Entries)


def effective_policy(policy: Policy, payer_id: str | None, headers: Mapping[str, str]) -> Policy:
    """The policy for one job; a header that makes no sense raises InvalidInput naming it."""
    narrowed = policy.for_payer(payer_id)
    given: dict[str, str] = {name: text for name, text in headers.items() if not _belongs_to_others(name)}
    if unknown := sorted(given.keys() - set(HEADERS)):
        raise _unknown(unknown[0], given[unknown[0]])
    if not given:
        return narrowed
    narrowed = _with_limits(narrowed, given)
    for name, apply in _APPLY.items():
        if name in given:
            narrowed = _applied(apply, narrowed, name, given[name])
    return replace(narrowed, fingerprint=fingerprint(f"{narrowed.fingerprint} {sorted(given.items())}"))


def as_named(policy: Policy, headers: Mapping[str, str]) -> Policy:
    """The policy under the profile and form of ids that the headers name, as far as they make sense."""
    for name in (PolicyHeader.RETRY_PROFILE, PolicyHeader.CLAIM_ID_FORM):
        if name in headers:
            with suppress(InvalidPolicy, ValueError):
                policy = _APPLY[name](policy, headers[name])
    return policy


def _belongs_to_others(name: str) -> bool:
    return "." in name or ":" in name or name.startswith(_TEMPLATE_NAMES)


def _unknown(name: str, text: str) -> InvalidInput:
    lowered = {known.lower(): str(known) for known in HEADERS}
    near = get_close_matches(name.strip().lower(), lowered, n=1)
    meant = f"did you mean {lowered[near[0]]}?" if near else f"known are {', '.join(HEADERS)}"
    shown_name = shorten(redact(name), 60)
    return _rejected(shown_name, text, f"there is no such header, {meant}")


def _with_limits(policy: Policy, given: Mapping[str, str]) -> Policy:
    named = {name: given[name] for name in _LIMITS if name in given}
    try:
        change = LimitsChange.model_validate_strings({_LIMITS[name]: text for name, text in named.items()})
    except ValidationError as error:
        field = str(error.errors()[0]["loc"][0])
        name = next(name for name, known in _LIMITS.items() if known == field)
        raise _rejected(name, given[name], "it must be a number") from error
    try:
        limits = change_limits(policy.limits, change)
    except InvalidPolicy as error:
        if outside := _waits_outside(named, change):
            raise _leaving(outside, WAITS) from error
        raise _rejected(", ".join(named), named.values(), _why_of_limits(error, named)) from error
    _require_rules(limits, named)
    return replace(policy, limits=limits)


def _why_of_limits(error: InvalidPolicy, named: Mapping[PolicyHeader, str]) -> str:
    """What is wrong with the limits; it quotes them, and a number of many digits can be a person's."""
    return _why(error) if all(map(_is_word, named.values())) else "a limit is far outside its bounds"


def _waits_outside(named: Mapping[PolicyHeader, str], change: LimitsChange) -> dict[PolicyHeader, str]:
    """Shortest and longest waits that leave the rule whatever the other waits are."""
    edges = {
        PolicyHeader.MIN_MINUTES: change.min_minutes,
        PolicyHeader.MAX_MINUTES: change.max_minutes,
    }
    outside = [
        name
        for name, minutes in edges.items()
        if minutes is not None and not SHORTEST_SECONDS <= round(minutes * 60) <= LONGEST_SECONDS
    ]
    return {name: named[name] for name in outside}


def _require_rules(limits: RetryLimits, named: Mapping[PolicyHeader, str]) -> None:
    for bounds in left_bounds(limits, {_limit_of(name) for name in named}):
        at_fault = {name: text for name, text in named.items() if not bounds.hold(limits, {_limit_of(name)})}
        raise _leaving(at_fault, bounds)


def _limit_of(header: PolicyHeader) -> str:
    field = _LIMITS[header]
    return LIMITS_IN_SECONDS.get(field, field)


def _leaving(headers: Mapping[PolicyHeader, str], bounds: LimitBounds) -> InvalidInput:
    return InvalidInput(
        f"Task header {', '.join(headers)}",
        _shown(*headers.values()),
        rule=bounds.names,
        problem=f"the rule asks for {bounds.asked}, and a header cannot leave it",
        remedy=f"{REMEDY} Only the policy file can leave a rule, by name.",
    )


def _applied(apply: Apply, policy: Policy, name: str, text: str) -> Policy:
    try:
        return apply(policy, text)
    except (InvalidPolicy, ValueError) as error:
        raise _rejected(name, text, _why(error)) from error


def _why(error: Exception) -> str:
    match error:
        case InvalidPolicy():
            return "; ".join(error.problems)
        case ValidationError():
            return plain_words(error.errors()[0]["msg"])
        case _:
            return str(error)


def _rejected(name: str, text: str | Iterable[str], problem: str) -> InvalidInput:
    return InvalidInput(
        f"Task header {name}",
        _shown(text) if isinstance(text, str) else _shown(*text),
        rule=RULE,
        problem=problem,
        remedy=REMEDY,
    )


def _profile(policy: Policy, text: str) -> Policy:
    name = text.strip()
    return policy.under(name if name in policy.profiles else _one_word(name))


def _empty_error(policy: Policy, text: str) -> Policy:
    return replace(policy, profile=replace(policy.profile, empty_error=_choice(EmptyError, text)))


def _give_up(policy: Policy, text: str) -> Policy:
    return replace(policy, on_give_up=_choice(GiveUp, text))


def _claim_id_form(policy: Policy, text: str) -> Policy:
    return replace(policy, claim_id_form=_choice(ClaimIdForm, text))


def _zone(policy: Policy, text: str) -> Policy:
    return replace(policy, zone=zone_named(_one_word(text)))


def _also_permanent(policy: Policy, text: str) -> Policy:
    return replace(policy, catalog=amend(policy.catalog, permanent=_entries(text)))


def _also_transient(policy: Policy, text: str) -> Policy:
    entries = _entries(text)
    for entry in entries:
        category = category_of(policy.catalog, entry)
        if category and category.name in {REFUSED_LOGIN, *PERMANENT_BY_RULE}:
            raise _never_retried(entry, category.name)
    return replace(policy, catalog=amend(policy.catalog, transient=entries))


def _never_retried(entry: str, category: str) -> InvalidInput:
    return InvalidInput(
        f"Task header {PolicyHeader.ALSO_TRANSIENT}",
        _shown(entry),
        rule="BIL-004-V2",
        problem=f"{entry} is {category}, a permanent error is not retried, and a header cannot change that",
        remedy=f"{REMEDY} Take the entry out.",
    )


def _entries(text: str) -> list[str]:
    return _ENTRIES.validate_python([entry.strip() for entry in text.split(",") if entry.strip()])


def _choice(kind: type[Choice], text: str) -> Choice:
    try:
        return kind(text.strip().lower())
    except ValueError as error:
        raise ValueError(f"choose {' or '.join(kind)}") from error


_LIMITS = {
    PolicyHeader.MAX_RETRIES: "max_retries",
    PolicyHeader.BASE_MINUTES: "base_minutes",
    PolicyHeader.MIN_MINUTES: "min_minutes",
    PolicyHeader.MAX_MINUTES: "max_minutes",
    PolicyHeader.BACKOFF_FACTOR: "factor",
    PolicyHeader.JITTER_PERCENT: "jitter_percent",
    PolicyHeader.RESERVE_MINUTES: "reserve_minutes",
}
_APPLY: dict[PolicyHeader, Apply] = {
    PolicyHeader.RETRY_PROFILE: _profile,
    PolicyHeader.ON_EMPTY_ERROR: _empty_error,
    PolicyHeader.ON_GIVE_UP: _give_up,
    PolicyHeader.TIME_ZONE: _zone,
    PolicyHeader.CLAIM_ID_FORM: _claim_id_form,
    PolicyHeader.ALSO_PERMANENT: _also_permanent,
    PolicyHeader.ALSO_TRANSIENT: _also_transient,
}
HEADERS = (*_LIMITS, *_APPLY)


def _shown(*texts: str) -> str:
    """Headers' texts, which are the model's own: words and numbers as they are, of sentences the form."""
    if all(map(_is_word, texts)):
        return f'the text "{" ".join(texts)}"'
    return f'a text of the form "{form_of(" ".join(texts))}"'


def _is_word(text: str) -> bool:
    return _WORD.fullmatch(text) is not None and redact(text) == text


def _one_word(text: str) -> str:
    """A name, which a message may quote."""
    if not _is_word(text.strip()):
        raise ValueError("it must be a name without blanks")
    return text.strip()
