"""Says what is unwise about a policy, with numbers; what is wrong with it is refused on loading."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil

from domain.backoff import RetryLimits, base_wait
from domain.catalog import Category, Team, entry_key
from domain.limit_rules import LimitRule, left_bounds, left_rules
from domain.policy import Policy
from workers.config.idempotency import IdempotencySettings, OperationName
from workers.policy.tools import cover

HERD = 10_000


Case = Mapping[str, float | str]


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing that is unwise: a short name, what it is with numbers, and what to do.

    `cases` are the same numbers by name, for who says it in another language; `payer` whose limits they are.
    """

    name: str
    finding: str
    remedy: str
    cases: tuple[Case, ...] = ()
    payer: str = ""


def lint(policy: Policy, idempotency: IdempotencySettings) -> tuple[Advice, ...]:
    """Check the policy and each payer's own limits, and how long operations' records are kept."""
    own = [advice for payer, part in policy.payers.items() for advice in _payer(policy, payer, part)]
    return (
        *_limits(policy),
        *_overlaps(policy),
        *_teams(policy),
        *_not_left(policy),
        *_memory(policy, idempotency),
        *_deadline(policy),
        *own,
    )


def _payer(policy: Policy, payer: str, own: Policy) -> Iterator[Advice]:
    known = {advice.finding for advice in (*_limits(policy), *_overlaps(policy))}
    for advice in (*_limits(own), *_overlaps(own)):
        if advice.finding not in known:
            yield replace(advice, finding=f"payer {payer}: {advice.finding}", payer=payer)
    for rule in sorted(own.leaves - policy.leaves - set(left_rules(own.limits))):
        yield _name_unneeded(rule, payer)


def _not_left(policy: Policy) -> Iterator[Advice]:
    needed = {rule for part in (policy, *policy.payers.values()) for rule in left_rules(part.limits)}
    for rule in sorted(policy.leaves - needed):
        yield _name_unneeded(rule)


def _name_unneeded(rule: LimitRule, payer: str = "") -> Advice:
    where = f"payer {payer}: " if payer else ""
    return Advice(
        "rule-not-left",
        f"{where}leaves names {rule}, which its limits keep",
        f"take {rule} out of leaves",
        ({"rules": rule},),
        payer,
    )


def _limits(policy: Policy) -> Iterator[Advice]:
    yield from _rules(policy.limits)
    yield from _cap(policy.limits)
    yield from _herd(policy.limits)
    yield from _outages(policy)
    yield from _targets(policy)


def _rules(limits: RetryLimits) -> Iterator[Advice]:
    for bounds in left_bounds(limits):
        yield Advice(
            "rule-left",
            f"{bounds.found(limits)}: the file leaves {bounds.names} (critical), {bounds.asked}",
            "return to the rule; until then keep with the file who agreed to leave it",
            ({"rules": bounds.names},),
        )


def _cap(limits: RetryLimits) -> Iterator[Advice]:
    longest = max(step.wait_high for step in cover.arrivals(limits))
    if longest * 60 < limits.cap_seconds:
        finding = f"the longest possible wait is {longest:g} min; the cap of {limits.cap_seconds / 60:g} min"
        yield Advice(
            "unreachable-cap",
            f"{finding} is never reached, and an alarm on it never rings",
            f"lower max_minutes to {longest:g}, or allow {_retries_to_cap(limits)} retries "
            "(more than 5 leave BIL-004-V1 and BIL-005-V1)",
            ({"longest": longest, "cap": limits.cap_seconds / 60},),
        )


def _retries_to_cap(limits: RetryLimits) -> int | str:
    counts = (count for count in range(50) if base_wait(limits, count) == limits.cap_seconds)
    return next((count + 1 for count in counts), "more than 50")


def _herd(limits: RetryLimits) -> Iterator[Advice]:
    first = cover.arrivals(limits)[0]
    width = (first.wait_high - first.wait_low) * 60
    if width < 1:
        yield Advice(
            "no-jitter",
            f"all first retries wait {first.wait_low:g} min: claims that fail together return together",
            "raise jitter_percent, or put base_minutes above min_minutes",
            ({"wait": first.wait_low},),
        )
    elif HERD / width > 100:
        window = f"the first window is {width:.0f} s wide"
        yield Advice(
            "narrow-first-window",
            f"{window}: {HERD} claims that fail together return at {HERD / width:.0f} per second",
            "put base_minutes above min_minutes, or hold the payer's claims while it is down",
            ({"width": round(width), "herd": HERD, "rate": round(HERD / width)},),
        )


def _outages(policy: Policy) -> Iterator[Advice]:
    allowed = policy.expectations.lost_percent
    reach = cover.arrivals(policy.limits)[-1]
    for outage in policy.expectations.outage_minutes:
        lost = cover.lost_share(policy.limits, outage) * 100
        if lost > allowed:
            longest = cover.longest_outage(policy.limits, allowed)
            covered = (
                f"{allowed:g} % allowed; the retries reach {reach.earliest:.0f} to {reach.latest:.0f} min"
            )
            yield Advice(
                "outage-not-covered",
                f"an outage of {outage} min loses {lost:.0f} % of its claims ({covered})",
                f"add retries or longer waits; this schedule keeps the target up to {longest:.0f} min",
                ({"outage": outage, "lost": round(lost), "allowed": allowed, "longest": round(longest)},),
            )


def _targets(policy: Policy) -> Iterator[Advice]:
    yield from _target_recovered(policy)
    yield from _target_attempts(policy)
    yield from _target_time(policy)
    yield from _mean_wait(policy)


def _target_recovered(policy: Policy) -> Iterator[Advice]:
    target, outages = policy.expectations.recovered_percent, policy.expectations.outage_minutes
    shares = {outage: 100 - cover.lost_share(policy.limits, outage) * 100 for outage in outages}
    if missed := [f"{share:.0f} % after {outage} min" for outage, share in shares.items() if share < target]:
        needed = 100 - 100 * (1 - target / 100) ** (1 / policy.limits.max_retries)
        yield Advice(
            "target-recovered",
            f"retries recover {', '.join(missed)}; target {target:g} %",
            f"cover longer outages; outside outages {needed:.0f} % success per retry is enough",
            _missed({outage: round(share) for outage, share in shares.items() if share < target}, target),
        )


def _target_attempts(policy: Policy) -> Iterator[Advice]:
    target, outages = policy.expectations.mean_attempts, policy.expectations.outage_minutes
    means = {outage: cover.mean_attempts(policy.limits, outage) for outage in outages}
    if missed := [f"{mean:.1f} for {outage} min" for outage, mean in means.items() if mean > target]:
        yield Advice(
            "target-attempts",
            f"claims that survive an outage need {', '.join(missed)} retries on average; target {target:g}",
            f"the target needs {100 / target:.0f} % success per retry: measure it outside outages",
            _missed({outage: round(mean, 1) for outage, mean in means.items() if mean > target}, target),
        )


def _target_time(policy: Policy) -> Iterator[Advice]:
    target, outages = policy.expectations.minutes_to_success, policy.expectations.outage_minutes
    medians = {outage: cover.median_minutes(policy.limits, outage) for outage in outages}
    if missed := [f"{time:.0f} min for {outage} min" for outage, time in medians.items() if time > target]:
        yield Advice(
            "target-time",
            f"the median claim that survives an outage takes {', '.join(missed)}; target {target} min",
            "measure the time from the end of the outage, or state shorter outages",
            _missed({outage: round(time) for outage, time in medians.items() if time > target}, target),
        )


def _missed(values: Mapping[int, float], target: float) -> tuple[Case, ...]:
    return tuple({"outage": outage, "value": value, "target": target} for outage, value in values.items())


def _mean_wait(policy: Policy) -> Iterator[Advice]:
    steps, alarm = cover.arrivals(policy.limits), policy.expectations.mean_wait_alarm_minutes
    mean = steps[-1].mean / len(steps)
    if mean > alarm:
        yield Advice(
            "alarm-always-rings",
            f"the mean of all {len(steps)} waits is {mean:.1f} min; the alarm rings above {alarm} min",
            f"raise mean_wait_alarm_minutes above {mean:.0f}",
            ({"mean": round(mean, 1), "alarm": alarm},),
        )


def _memory(policy: Policy, idempotency: IdempotencySettings) -> Iterator[Advice]:
    """A job is delivered again for as long as its claim is on its way, not only until its next wait."""
    reach = max(_reach(part) for part in (policy, *policy.payers.values()))
    needed = max(policy.expectations.resend_window_hours, reach)
    for operation in OperationName:
        hours = idempotency.hours(operation)
        if hours < needed:
            yield Advice(
                "idempotency-too-short",
                f"the record of {operation} is kept {hours:g} h, a claim may be on its way for {needed} h: "
                "a job that is delivered again later is not answered from it",
                f"set IDEMPOTENCY_TTL_HOURS to {needed} or more",
                ({"hours": hours, "needed": needed},),
            )


def _reach(policy: Policy) -> int:
    """Whole hours from the first failure to the last retry."""
    return ceil(cover.arrivals(policy.limits)[-1].latest / 60)


def _deadline(policy: Policy) -> Iterator[Advice]:
    allowed, reserve = policy.expectations.resend_window_hours, policy.limits.reserve_seconds / 3600
    window = f"claims may be resent for {allowed} h, of which {reserve:g} h are kept for a person"
    if reserve + policy.limits.floor_seconds / 3600 > allowed:
        yield Advice(
            "reserve-too-long",
            f"{window}: no retry fits before a deadline",
            f"lower reserve_minutes well below {allowed * 60}",
            ({"reserve": reserve, "allowed": allowed},),
        )
        return
    reach = cover.arrivals(policy.limits)[-1].latest / 60
    if reach + reserve > allowed:
        yield Advice(
            "past-the-deadline",
            f"the last retry may come after {reach:.1f} h; {window}",
            "lower max_retries, max_minutes or reserve_minutes",
            ({"reach": round(reach, 1), "reserve": reserve, "allowed": allowed},),
        )


def _overlaps(policy: Policy) -> Iterator[Advice]:
    categories = policy.catalog.categories
    entries = [(category, word, entry_key(word)) for category in categories for word in category.words]
    for category, word, key in entries:
        for other, longer, other_key in entries:
            if category.permanent != other.permanent and key in other_key:
                yield _overlap(category, word, other, longer)


def _teams(policy: Policy) -> Iterator[Advice]:
    for category in policy.catalog.categories:
        if category.permanent and category.team is None:
            yield Advice(
                "no-team",
                f"{category.name} names no team: its errors reach {Team.BILLING_MANAGEMENT}",
                f"add team = one of {', '.join(Team)}",
                ({"category": category.name},),
            )


def _overlap(category: Category, word: str, other: Category, longer: str) -> Advice:
    winner = category.name if category.permanent >= other.permanent else other.name
    return Advice(
        "overlapping-words",
        f'every text with "{longer}" ({other.name}) also contains "{word}" ({category.name}); {winner} wins',
        f'remove "{longer}", or make "{word}" more specific',
        ({"longer": longer, "word": word, "category": winner},),
    )
