"""Builds the domain's Policy from a checked policy file."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import tzinfo
from hashlib import blake2b
from types import MappingProxyType
from zoneinfo import ZoneInfo

from domain.backoff import RetryLimits
from domain.catalog import REFUSED_LOGIN, Catalog, amend, catalog_of, category_of, entry_key
from domain.errors import InvalidPolicy
from domain.limit_rules import require_named
from domain.policy import Expectations, Policy, Profile, RuleIds
from workers.policy.schema import LimitsChange, LimitsPart, PayerPart, PolicyFile, ProfilePart

LIMITS_IN_SECONDS = {
    "base_minutes": "base_seconds",
    "min_minutes": "floor_seconds",
    "max_minutes": "cap_seconds",
    "reserve_minutes": "reserve_seconds",
}
_LOGIN_CODES = ("HTTP:401", "HTTP:403", "FAULT:LOGININVALIDO")
_LOGIN = "a refused login is never retried, for the payer locks the account (BIL-004-V2)"


def build_policy(file: PolicyFile) -> Policy:
    """Turn a file into a policy, its payers' policies included; impossible ones raise InvalidPolicy."""
    profiles = {name: _profile(name, part) for name, part in file.profiles.items()}
    if file.profile not in profiles:
        raise InvalidPolicy(f'profile is "{file.profile}": choose one of {", ".join(profiles)}')
    policy = Policy(
        version=file.version,
        fingerprint=fingerprint(file.model_dump_json()),
        limits=_limits(file.limits),
        catalog=_catalog(file),
        profile=profiles[file.profile],
        profiles=MappingProxyType(profiles),
        zone=zone_named(file.zone),
        jitter_key=file.jitter_key,
        on_give_up=file.on_give_up,
        claim_id_form=file.claim_id_form,
        leaves=frozenset(file.leaves),
        expectations=Expectations(**file.expectations.model_dump()),
    )
    require_named(policy.limits, policy.leaves)
    payers = {payer: _for_payer(policy, payer, part) for payer, part in file.payers.items()}
    return replace(policy, payers=MappingProxyType(payers))


def fingerprint(content: str) -> str:
    """Eight hex digits that change when the content does."""
    return blake2b(content.encode(), digest_size=4).hexdigest()


def change_limits(limits: RetryLimits, change: LimitsChange) -> RetryLimits:
    """The limits with some of them replaced."""
    given = change.model_dump(exclude_none=True)
    waits = {
        LIMITS_IN_SECONDS[name]: _seconds(given.pop(name)) for name in LIMITS_IN_SECONDS if name in given
    }
    return replace(limits, **given, **waits)


def zone_named(name: str) -> tzinfo:
    """The time zone of that name, or an InvalidPolicy that says so."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise InvalidPolicy(f'zone is "{name}": choose a name such as America/Sao_Paulo') from error


def _limits(part: LimitsPart) -> RetryLimits:
    return RetryLimits(
        max_retries=part.max_retries,
        base_seconds=_seconds(part.base_minutes),
        floor_seconds=_seconds(part.min_minutes),
        cap_seconds=_seconds(part.max_minutes),
        factor=part.factor,
        jitter_percent=part.jitter_percent,
        reserve_seconds=_seconds(part.reserve_minutes),
    )


def _seconds(minutes: float) -> int:
    return round(minutes * 60)


def _profile(name: str, part: ProfilePart) -> Profile:
    return Profile(
        name=name,
        shape=part.shape,
        unknown=part.unknown,
        empty_error=part.empty_error,
        reason=part.reason,
        rules=RuleIds(**part.rules.model_dump()),
    )


def _catalog(file: PolicyFile) -> Catalog:
    if problems := tuple(_repeated(file)):
        raise InvalidPolicy(*problems)
    catalog = catalog_of(
        (part.category(name) for name, part in file.categories.items()),
        refusals=file.classification.unknown_code_is_permanent,
    )
    if problems := tuple(_retried_logins(catalog)):
        raise InvalidPolicy(*problems)
    return catalog


def _retried_logins(catalog: Catalog) -> Iterator[str]:
    for code in _LOGIN_CODES:
        found = catalog.codes.get(code)
        if found and not found.permanent:
            yield f"{code} is transient in {found.category}: {_LOGIN}; put it into a permanent category"


def _repeated(file: PolicyFile) -> Iterator[str]:
    seen: dict[str, str] = {}
    for name, part in file.categories.items():
        category = part.category(name)
        for entry in (*category.words, *category.codes):
            key = entry_key(entry)
            if key in seen:
                yield f'"{entry}" is in {seen[key]} and in {name}: keep it in one'
            seen[key] = name


def _for_payer(policy: Policy, payer: str, part: PayerPart) -> Policy:
    leaves = policy.leaves.union(part.leaves)
    try:
        _require_refused_logins(policy.catalog, part)
        limits = change_limits(policy.limits, part.limits)
        require_named(limits, leaves)
        return replace(
            policy,
            limits=limits,
            leaves=leaves,
            catalog=amend(policy.catalog, permanent=part.also_permanent, transient=part.also_transient),
            fingerprint=fingerprint(f"{policy.fingerprint} {payer} {part.model_dump_json()}"),
        )
    except InvalidPolicy as error:
        raise InvalidPolicy(*(f"payer {payer}: {problem}" for problem in error.problems)) from error


def _require_refused_logins(catalog: Catalog, part: PayerPart) -> None:
    holders = {entry: category_of(catalog, entry) for entry in part.also_transient}
    logins = [entry for entry, holder in holders.items() if holder and holder.name == REFUSED_LOGIN]
    if logins:
        found = f"also_transient has {', '.join(logins)}, which is {REFUSED_LOGIN}"
        raise InvalidPolicy(f"{found}: {_LOGIN}; take it out")
