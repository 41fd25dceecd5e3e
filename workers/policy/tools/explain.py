"""Why a decision came out as it did: each step with the numbers in it, so that anyone can recompute it."""

from domain.backoff import BackoffCalculation
from domain.catalog import Finding, Origin
from domain.deadline import seconds_left
from domain.decision import Cause, Decision, Exhausted, Permanent, Retry
from domain.durations import whole_second
from domain.outputs import iso_time
from domain.policy import Policy

Steps = list[tuple[str, str]]


def explain(decision: Decision, policy: Policy) -> Steps:
    """The steps of a decision, as pairs of name and sentence, and the rules that it leaves."""
    return [*_steps(decision, policy), *_left(decision)]


def _left(decision: Decision) -> Steps:
    names = ", ".join(decision.left_rules)
    return [("rules", f"leaves {names}, as the policy says by name")] if names else []


def _steps(decision: Decision, policy: Policy) -> Steps:
    steps = [("error", decision.last_error or "(empty)"), ("class", _class(decision.finding, policy))]
    match decision:
        case Retry():
            return [
                _count(decision.retry_count - 1, decision),
                *steps,
                *_backoff(decision, policy),
                *_deadline(decision, policy),
            ]
        case Exhausted(cause=Cause.DEADLINE):
            steps += _deadline(decision, policy)
            return [_count(decision.retry_count, decision), *steps, ("team", decision.team)]
        case Exhausted() | Permanent():
            return [_count(decision.retry_count, decision), *steps, ("team", decision.team)]


def _count(count: int, decision: Decision) -> tuple[str, str]:
    sign = "<" if count < decision.max_retries else ">="
    return "count", f"{count} {sign} {decision.max_retries} retries allowed"


def _class(finding: Finding, policy: Policy) -> str:
    if finding.origin is Origin.NOWHERE:
        return f"{finding.classification}: no entry of the catalog matches ({finding.category})"
    meaning = next((c.meaning for c in policy.catalog.categories if c.name == finding.category), "")
    found = f'"{finding.matched}" found in the {finding.origin}'
    return f"{finding.classification}: {found}, category {finding.category}" + (
        f" ({meaning})" if meaning else ""
    )


def _backoff(decision: Retry, policy: Policy) -> Steps:
    backoff = decision.backoff
    return [
        ("base", _base(backoff, policy)),
        ("window", _window(backoff, policy)),
        ("jitter", _jitter(decision, policy)),
        ("wait", _wait(backoff)),
        (
            "next",
            f"{iso_time(decision.decided_at)} + {duration(backoff.seconds)} = {_next(decision, policy)}",
        ),
    ]


def _base(backoff: BackoffCalculation, policy: Policy) -> str:
    limits = policy.limits
    grown = f"{limits.base_seconds / 60:g} min x {limits.factor}^{backoff.retry_count}"
    return f"min({grown}, {limits.cap_seconds / 60:g} min) = {backoff.base_seconds / 60:g} min"


def _window(backoff: BackoffCalculation, policy: Policy) -> str:
    limits = policy.limits
    bounds = f"[{limits.floor_seconds / 60:g}, {limits.cap_seconds / 60:g}] min"
    span = f"{duration(backoff.low_seconds)} to {duration(backoff.high_seconds)}"
    return f"{backoff.base_seconds / 60:g} min +- {limits.jitter_percent} % inside {bounds}: {span}"


def _jitter(decision: Retry, policy: Policy) -> str:
    text = f'"{decision.claim_id}", {decision.backoff.retry_count}, "{policy.version}"'
    return f'blake2b({text}; key "{policy.jitter_key}") = {decision.backoff.fraction:.6f} of the window'


def _wait(backoff: BackoffCalculation) -> str:
    width = backoff.high_seconds - backoff.low_seconds
    formula = f"{backoff.low_seconds} s + floor({backoff.fraction:.6f} x {width} s)"
    seconds = backoff.fitted_from or backoff.seconds
    fitted = f", moved up to {duration(backoff.seconds)}" if backoff.fitted_from else ""
    return f"{formula} = {seconds} s = {duration(seconds)}{fitted}"


def _deadline(decision: Retry | Exhausted, policy: Policy) -> Steps:
    if decision.deadline is None:
        return []
    limits = policy.limits
    left = seconds_left(limits, start=whole_second(decision.decided_at), deadline=decision.deadline)
    kept = f"{iso_time(decision.deadline)} - {limits.reserve_seconds / 60:g} min for a person"
    shortest = f"the shortest wait is {duration(limits.floor_seconds)}{_placed(decision, policy, left)}"
    return [("deadline", f"{kept}: {duration(max(left, 0))} left, {shortest}")]


def _placed(decision: Retry | Exhausted, policy: Policy, left: int) -> str:
    if isinstance(decision, Exhausted) or decision.backoff.fitted_from is None:
        return ""
    floor, backoff = policy.limits.floor_seconds, decision.backoff
    return f": {floor} s + floor({backoff.fraction:.6f} x {left - floor} s) = {backoff.seconds} s"


def _next(decision: Retry, policy: Policy) -> str:
    local = decision.next_retry_time.astimezone(policy.zone)
    return f"{iso_time(decision.next_retry_time)} ({local:%d/%m/%Y %H:%M:%S} {policy.zone})"


def duration(seconds: int) -> str:
    """Minutes and seconds for people: `9 min 15 s`."""
    minutes, rest = divmod(seconds, 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"
