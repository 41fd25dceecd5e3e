"""The policy in force for people: in words, with its windows, lists, payers, advice and history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from markupsafe import Markup

from domain.catalog import Category
from domain.payer_status import PayerLimits
from domain.policy import Policy
from persistence.repositories.adopted_policies import AdoptionKind, KeptAdoption
from workers.console.views.policy_pictures import WaitBar, wait_windows
from workers.console.views.reasons import category_name
from workers.console.views.times import Said, Times
from workers.console.words import Words
from workers.policy.tools.cover import arrivals, lost_share
from workers.policy.tools.lint import Advice, Case

MINUTE = 60


@dataclass(frozen=True, slots=True)
class WindowLine:
    """One retry: its wait and when it comes after the first failure."""

    name: str
    base: str
    window: str
    reached: str


@dataclass(frozen=True, slots=True)
class ExpectedOutage:
    """An outage that the business expects, and how many claims it would cost."""

    length: str
    lost: str
    is_covered: bool


@dataclass(frozen=True, slots=True)
class ListLine:
    """A kind of error: what it is called, whom it reaches, by which words and codes it is known."""

    name: str
    team: str
    entries: Sequence[str]


@dataclass(frozen=True, slots=True)
class PayerTreatment:
    """How a payer is treated: its pace and its breaker, and whether it has limits of its own."""

    payer_id: str
    pace: str
    breaker: str
    has_own: bool


@dataclass(frozen=True, slots=True)
class AdviceLine:
    """Something unwise, what to do about it, and each case of it with its numbers."""

    what: str
    remedy: str
    cases: Sequence[str]


@dataclass(frozen=True, slots=True)
class AdoptionLine:
    """Who brought what into force."""

    number: int
    at: Said
    what: str
    policy: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class PolicySheet:
    """A policy in words."""

    sentences: Sequence[str]
    windows: Sequence[WindowLine]
    picture: Markup
    outages: Sequence[ExpectedOutage]
    permanent: Sequence[ListLine]
    transient: Sequence[ListLine]
    left: Sequence[str]


def minutes(seconds: float, words: Words) -> str:
    """Minutes as people write them: 5, 7,5, 240."""
    return decimal(seconds / MINUTE, words)


def decimal(value: float, words: Words) -> str:
    """A number without needless zeros."""
    return f"{value:.1f}".removesuffix(".0").replace(".", words.point)


def sheet_of(policy: Policy, words: Words) -> PolicySheet:
    """The policy read aloud."""
    windows, catalog = _windows(policy, words), policy.catalog.categories
    return PolicySheet(
        sentences=_sentences(policy, words),
        windows=windows,
        picture=_picture(policy, words),
        outages=_outages(policy, words),
        permanent=[_list(one, words) for one in catalog if one.permanent],
        transient=[_list(one, words) for one in catalog if not one.permanent],
        left=[str(rule) for rule in policy.left_rules],
    )


def _sentences(policy: Policy, words: Words) -> Sequence[str]:
    limits = policy.limits
    low, high = minutes(limits.floor_seconds, words), minutes(limits.cap_seconds, words)
    return [
        words.counted("policy.retries", limits.max_retries),
        words("policy.first_wait", base=minutes(limits.base_seconds, words), factor=limits.factor),
        words("policy.bounds", low=low, high=high, jitter=limits.jitter_percent),
        words("policy.reserve", time=minutes(limits.reserve_seconds, words)),
    ]


def _windows(policy: Policy, words: Words) -> Sequence[WindowLine]:
    limits = policy.limits
    bases = [
        min(limits.base_seconds * limits.factor**n, limits.cap_seconds) for n in range(limits.max_retries)
    ]
    return [
        WindowLine(
            name=words("policy.retry", n=step.number),
            base=words("time.minutes", n=minutes(base, words)),
            window=_span(step.wait_low, step.wait_high, words),
            reached=_span(step.earliest, step.latest, words),
        )
        for step, base in zip(arrivals(limits), bases, strict=True)
    ]


def _span(low: float, high: float, words: Words) -> str:
    return words("policy.span", low=decimal(low, words), high=decimal(high, words))


def _picture(policy: Policy, words: Words) -> Markup:
    steps = arrivals(policy.limits)
    bars = [
        WaitBar(
            words("policy.retry", n=one.number),
            one.wait_low,
            one.wait_high,
            _span(one.wait_low, one.wait_high, words),
        )
        for one in steps
    ]
    return wait_windows(
        bars, words("policy.windows_alt", n=len(bars), text=", ".join(bar.text for bar in bars))
    )


def _outages(policy: Policy, words: Words) -> Sequence[ExpectedOutage]:
    found = []
    for length in policy.expectations.outage_minutes:
        lost = lost_share(policy.limits, length) * 100
        share = f"{round(lost)} %"
        is_covered = lost <= policy.expectations.lost_percent
        found.append(ExpectedOutage(words("time.minutes", n=length), share, is_covered))
    return found


def _list(category: Category, words: Words) -> ListLine:
    known = words.knows(f"category.{category.name}")
    name = category_name(category.name, words) if known else category.name
    team = words(f"team.{category.team or 'none'}") if category.permanent else ""
    return ListLine(name, team, [*category.codes, *category.words])


def payer_lines(limits: Mapping[str, PayerLimits], policy: Policy, words: Words) -> Sequence[PayerTreatment]:
    """Every payer that is set up, by name."""
    return [_payer(payer_id, one, policy, words) for payer_id, one in sorted(limits.items())]


def _payer(payer_id: str, limits: PayerLimits, policy: Policy, words: Words) -> PayerTreatment:
    pace = words("policy.pace", n=limits.per_minute) if limits.per_minute else words("policy.no_pace")
    first, longest = (minutes(one.total_seconds(), words) for one in (limits.first_wait, limits.longest_wait))
    breaker = words("policy.breaker", n=limits.threshold, first=first, longest=longest)
    return PayerTreatment(payer_id, pace, breaker, payer_id in policy.payers)


def advice_lines(found: Sequence[Advice], words: Words) -> Sequence[AdviceLine]:
    """Each kind of finding once, in words of ours."""
    return [
        AdviceLine(words(f"advice.{name}"), words(f"advice_do.{name}"), _cases(name, found, words))
        for name in dict.fromkeys(_key(one) for one in found)
    ]


def _key(advice: Advice) -> str:
    return advice.name.replace("-", "_")


def _cases(name: str, found: Sequence[Advice], words: Words) -> Sequence[str]:
    mine = [(one.payer, case) for one in found if _key(one) == name for case in one.cases]
    told = [(payer, words(f"advice_case.{name}", **_numbers(case, words))) for payer, case in mine]
    return [words("change.of_payer", payer=payer, what=what) if payer else what for payer, what in told]


def _numbers(case: Case, words: Words) -> dict[str, str]:
    return {name: _number(name, value, words) for name, value in case.items()}


def _number(name: str, value: float | str, words: Words) -> str:
    if isinstance(value, int):
        return words.number(value)
    if isinstance(value, float):
        return decimal(value, words)
    return category_name(value, words) if name == "category" and words.knows(f"category.{value}") else value


def adoption_lines(found: Sequence[KeptAdoption], times: Times) -> Sequence[AdoptionLine]:
    """Who adopted what, newest first."""
    words = times.words
    return [
        AdoptionLine(
            number=one.adoption_id,
            at=times.at(one.at),
            what=words("policy.adopted" if one.kind is AdoptionKind.ADOPTED else "policy.undone"),
            policy=one.policy or words("policy.own"),
            by=one.ordered_by,
            reason=one.reason,
        )
        for one in found
    ]


def share_of(value: Fraction | None, words: Words) -> str:
    """A mean with two decimals."""
    return "-" if value is None else f"{float(value):.2f}".replace(".", words.point)
