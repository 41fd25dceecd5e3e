"""The policy in force where this command runs: adopted in its database, else the settings' own."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from domain.errors import Trouble
from domain.policy import Policy
from workers.config.settings import Settings, read_general_settings
from workers.policy import PolicySource, load_policy


@dataclass(frozen=True, slots=True)
class ChosenPolicy:
    """A policy to decide by; `told` says where it comes from, if that is not plain."""

    policy: Policy
    told: str = ""


def policy_here(file: Path | None) -> ChosenPolicy:
    """The file's policy; without one what was adopted, where there is a database, else the settings' own."""
    if file:
        return ChosenPolicy(load_policy(file))
    settings = read_general_settings()
    source = PolicySource(settings.policy_file)
    if not (settings.database_url or (settings.home / "reenvio.db").exists()):
        return ChosenPolicy(source.own)
    return asyncio.run(_adopted(settings, source))


async def _adopted(settings: Settings, source: PolicySource) -> ChosenPolicy:
    from persistence.database.engine import (  # a decision without a database needs none of it
        close_database,
        open_database,
    )
    from persistence.database.revision import is_new_enough
    from persistence.store import Store
    from workers.policy.following import policy_of

    database = open_database(settings.database)
    try:
        newest = None
        if await is_new_enough(database):
            newest = await Store(database).look(lambda tx: tx.adopted_policies.newest())
    except Trouble as away:
        return ChosenPolicy(source.own, f"{away} Decided by the settings' own policy, {source.own.label}.")
    finally:
        await close_database(database)
    if newest is None or (policy := policy_of(newest)) is None:
        return ChosenPolicy(source.own)
    return ChosenPolicy(policy, f"Policy {policy.label} is in force, adopted by {newest.ordered_by}.")
