"""What changes between two policies, in the terms people ask about: waits, classes of entries, settings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from domain.backoff import window
from domain.policy import Policy, Profile


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """One difference; None stands for absent."""

    what: str
    before: str | None
    after: str | None


def diff(old: Policy, new: Policy) -> tuple[PolicyChange, ...]:
    """All differences, settings first, then waits, then the classes of words and codes, then payers."""
    return (
        *_settings(old, new),
        *_compared("wait before retry", _waits(old), _waits(new)),
        *_compared("entry", _entries(old), _entries(new)),
        *_compared("team of", _teams(old), _teams(new)),
        *_payers(old, new),
    )


def _settings(old: Policy, new: Policy) -> Iterator[PolicyChange]:
    yield from _compared("", _top(old), _top(new))
    yield from _compared("limits", _fields(old.limits), _fields(new.limits))
    yield from _compared("expectations", _fields(old.expectations), _fields(new.expectations))
    yield from _compared("profile", _profiles(old), _profiles(new))


def _compared(prefix: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[PolicyChange]:
    for name in {**old, **new}:
        if old.get(name) != new.get(name):
            yield PolicyChange(f"{prefix} {name}".strip(), old.get(name), new.get(name))


def _top(policy: Policy) -> dict[str, str]:
    return {
        "version": policy.version,
        "profile": policy.profile.name,
        "zone": str(policy.zone),
        "jitter_key": policy.jitter_key,
        "on_give_up": policy.on_give_up.value,
        "claim_id_form": policy.claim_id_form.value,
        "leaves": _leaves(policy),
        "unknown_code_is_permanent": ", ".join(sorted(policy.catalog.refusals)),
    }


def _leaves(policy: Policy) -> str:
    return ", ".join(sorted(policy.leaves)) or "no rule"


def _fields(value: object) -> dict[str, str]:
    return {field.name: str(getattr(value, field.name)) for field in fields(value)}  # type: ignore[arg-type]


def _profiles(policy: Policy) -> dict[str, str]:
    return {f"{name} {key}": text for name, part in policy.profiles.items() for key, text in _profile(part)}


def _profile(profile: Profile) -> list[tuple[str, str]]:
    return [(key, text) for key, text in _fields(profile).items() if key != "name"]


def _waits(policy: Policy) -> dict[str, str]:
    spans = {count + 1: window(policy.limits, count) for count in range(policy.limits.max_retries)}
    return {str(number): f"{low / 60:g} to {high / 60:g} min" for number, (low, high) in spans.items()}


def _entries(policy: Policy) -> dict[str, str]:
    return {
        entry: f"{'permanent' if category.permanent else 'transient'}, {category.name}"
        for category in policy.catalog.categories
        for entry in (*category.words, *category.codes)
    }


def _teams(policy: Policy) -> dict[str, str]:
    return {category.name: str(category.team) for category in policy.catalog.categories if category.team}


def _payers(old: Policy, new: Policy) -> Iterator[PolicyChange]:
    for payer in {**old.payers, **new.payers}:
        before, after = old.for_payer(payer), new.for_payer(payer)
        for change in _payer(before, after):
            yield PolicyChange(f"payer {payer}: {change.what}", change.before, change.after)


def _payer(before: Policy, after: Policy) -> Iterator[PolicyChange]:
    yield from _compared("", {"leaves": _leaves(before)}, {"leaves": _leaves(after)})
    yield from _compared("", _waits(before), _waits(after))
    yield from _compared("entry", _entries(before), _entries(after))
