"""Policies as they were when they decided, so that an auditor can decide again."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.backoff import RetryLimits
from domain.catalog import Category, ErrorClassification, Team, catalog_of
from domain.claim import ClaimIdForm
from domain.limit_rules import LimitRule
from domain.policy import EmptyError, GiveUp, Policy, Profile, RuleIds, Shape
from persistence.database.canonical import canonical
from persistence.database.dialect import insert_into
from persistence.tables import policies


@dataclass(frozen=True, slots=True)
class KeptSchedule:
    """By which limits a profile spaced retries, which rule it follows, and in which words it said so."""

    shape: Shape
    reason: str
    limits: RetryLimits

    def has_said(self, reason: str, attempt: int) -> bool:
        """Whether a decision's reason is of this profile."""
        said = self.reason.replace("{attempt}", str(attempt)).replace("{limit}", str(self.limits.max_retries))
        return reason == said or reason.startswith(f"{said} ")


class Policies:
    """Policies by the version that decisions carry."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def keep(self, used: Iterable[Policy], *, now: datetime) -> None:
        """Keep policies that are not kept yet."""
        by_key = {key(policy): policy for policy in used}
        known = select(policies.c.policy_version).where(policies.c.policy_version.in_(by_key))
        for kept in await self._connection.scalars(known):
            del by_key[kept]
        if by_key:
            statement = insert_into(self._connection, policies).on_conflict_do_nothing()
            await self._connection.execute(statement, [_row(policy, now) for policy in by_key.values()])

    async def find(self, version: str, profile: str) -> Policy | None:
        """The policy of a decision, under the profile it was made with."""
        query = select(policies.c.document).where(policies.c.policy_version == f"{version}/{profile}")
        found = await self._connection.scalar(query)
        return None if found is None else restored(found)

    async def by_version(self, versions: Iterable[str]) -> Mapping[str, Policy]:
        """The policies of decisions, under any profile: waits are reckoned alike in all."""
        found: dict[str, Policy] = {}
        for version in set(versions):
            first, last = f"{version}/", f"{version}0"  # whatever follows the slash
            mine = (policies.c.policy_version >= first) & (policies.c.policy_version < last)
            text = await self._connection.scalar(select(policies.c.document).where(mine).limit(1))
            found |= {version: restored(text)} if text else {}
        return found

    async def schedules(self, versions: Iterable[str]) -> Mapping[str, Sequence[KeptSchedule]]:
        """The schedules of decisions' policies, one for each profile that decided by them."""
        return {version: [one async for one in self._schedules(version)] for version in set(versions)}

    async def _schedules(self, version: str) -> AsyncIterator[KeptSchedule]:
        first, last = f"{version}/", f"{version}0"  # whatever follows the slash
        mine = (policies.c.policy_version >= first) & (policies.c.policy_version < last)
        for text in await self._connection.scalars(select(policies.c.document).where(mine)):
            kept = json.loads(text)
            profile = kept["profile"]
            yield KeptSchedule(Shape(profile["shape"]), profile["reason"], RetryLimits(**kept["limits"]))


def _row(policy: Policy, now: datetime) -> dict[str, object]:
    return {"policy_version": key(policy), "document": document(policy), "first_used_at": now}


def key(policy: Policy) -> str:
    """What tells one policy in use from another: its version, its content and its profile."""
    return f"{policy.label}/{policy.profile.name}"


def document(policy: Policy) -> str:
    """Everything that the decision depends on, as canonical JSON."""
    profile = policy.profile
    return canonical(
        {
            "version": policy.version,
            "fingerprint": policy.fingerprint,
            "limits": asdict(policy.limits),
            "categories": [asdict(category) for category in policy.catalog.categories],
            "refusals": sorted(policy.catalog.refusals),
            "profile": asdict(profile),
            "zone": str(policy.zone),
            "jitter_key": policy.jitter_key,
            "on_give_up": policy.on_give_up,
            "claim_id_form": policy.claim_id_form,
            "leaves": sorted(policy.leaves),
        }
    )


def restored(text: str) -> Policy:
    """The policy of a document."""
    kept = json.loads(text)
    profile = _profile(kept["profile"])
    return Policy(
        version=kept["version"],
        fingerprint=kept["fingerprint"],
        limits=RetryLimits(**kept["limits"]),
        catalog=catalog_of((_category(c) for c in kept["categories"]), refusals=kept["refusals"]),
        profile=profile,
        profiles={profile.name: profile},
        zone=ZoneInfo(kept["zone"]),
        jitter_key=kept["jitter_key"],
        on_give_up=GiveUp(kept["on_give_up"]),
        claim_id_form=ClaimIdForm(kept.get("claim_id_form", ClaimIdForm.CLM)),
        leaves=frozenset(map(LimitRule, kept.get("leaves", ()))),
    )


def _profile(kept: dict[str, Any]) -> Profile:
    return Profile(
        name=kept["name"],
        shape=Shape(kept["shape"]),
        unknown=ErrorClassification(kept["unknown"]),
        empty_error=EmptyError(kept["empty_error"]),
        reason=kept["reason"],
        rules=RuleIds(**kept["rules"]),
    )


def _category(kept: dict[str, Any]) -> Category:
    lists = {name: tuple(entries) for name, entries in kept.items() if isinstance(entries, list)}
    team = kept.get("team")  # documents of earlier versions name none
    return Category(**(kept | lists | {"team": team and Team(team)}))
