"""Follows what people adopt: every process looks every two seconds, and decides by the newest."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum

import structlog

from domain.errors import InvalidPolicy, Trouble
from domain.policy import Policy
from persistence.repositories.adopted_policies import OWN_POLICY, KeptAdoption
from persistence.store import Store
from workers.policy.file import PolicySource, parse_policy
from workers.runtime.beside import beside

LOOK_SECONDS = 2.0
log = structlog.get_logger(__name__)


class PolicyOrigin(StrEnum):
    """Where the policy in force comes from."""

    ADOPTED = "adopted"
    FILE = "file"
    PACKAGED = "packaged"


class UnreadableAdoption(Trouble):
    """The adopted policy on record cannot be decided by."""

    def __init__(self, adoption_id: int, why: str) -> None:
        super().__init__(
            f"The adopted policy {adoption_id} cannot be used: {why}. Nothing was decided by it. See "
            "`reenvio audit verify` and `reenvio policy history`; then take it back with "
            "`reenvio policy undo`, or adopt another with `reenvio policy adopt`."
        )
        self.adoption_id = adoption_id


def policy_of(adoption: KeptAdoption) -> Policy | None:
    """The policy of an adoption, None for the settings' own; one that is damaged or not valid is trouble."""
    if not adoption.is_whole:
        raise UnreadableAdoption(adoption.adoption_id, "its document is not the one that was adopted")
    if adoption.document is None:
        return None
    try:
        policy = parse_policy(adoption.document)
    except InvalidPolicy as refused:
        raise UnreadableAdoption(adoption.adoption_id, str(refused)) from refused
    if policy.label != adoption.policy:
        raise UnreadableAdoption(adoption.adoption_id, f"it reads as {policy.label}, not {adoption.policy}")
    return policy


@dataclass(slots=True)
class PolicyFollower:
    """Brings what was adopted into one process; what cannot be read changes nothing, and is told once."""

    store: Store
    source: PolicySource
    _seen: int | None = None
    _adoption: int | None = None
    _trouble: str | None = None

    async def begin(self) -> None:
        """Take over what is in force; a process does not begin by a policy that nobody adopted."""
        newest = await self.store.look(lambda tx: tx.adopted_policies.newest())
        if self._seen != (newest.adoption_id if newest else OWN_POLICY):
            self._take(newest)

    async def run(self, look_seconds: float = LOOK_SECONDS) -> None:
        """Tell what is in force, now and whenever it changes, until cancelled."""
        while True:
            tell_in_force(self.source, self._adoption)
            told = self._seen
            while self._seen == told:
                await asyncio.sleep(look_seconds)
                await self.look()

    async def look(self) -> None:
        """Follow what is new; whatever is wrong, the policy in force stays."""
        try:
            newest = await self.store.look(lambda tx: tx.adopted_policies.newest_id())
            if newest != self._seen:
                self._take(await self.store.look(lambda tx: tx.adopted_policies.newest()))
            self._trouble = None
        except UnreadableAdoption as broken:
            self._tell(str(broken))
        except Exception as error:
            self._tell(type(error).__name__)  # its text may quote data

    def _take(self, newest: KeptAdoption | None) -> None:
        self.source.follow(policy_of(newest) if newest else None)
        self._seen = newest.adoption_id if newest else OWN_POLICY
        self._adoption = self._seen if newest and newest.document else None

    def _tell(self, trouble: str) -> None:
        if trouble != self._trouble:
            log.error("policy_not_followed", why=trouble, stays=self.source.current().label)
        self._trouble = trouble


def tell_in_force(source: PolicySource, adoption: int | None) -> None:
    """Which policy decides from now on, and where it comes from."""
    policy = source.current()
    left = [str(rule) for rule in policy.left_rules]
    log.info(
        "policy_in_force",
        version=policy.label,
        origin=origin_of(source, adoption),
        adoption=adoption,
        leaves=left,
    )


def origin_of(source: PolicySource, adoption: int | None) -> PolicyOrigin:
    """Where the policy in force comes from."""
    if adoption is not None:
        return PolicyOrigin.ADOPTED
    return PolicyOrigin.FILE if source.has_file else PolicyOrigin.PACKAGED


@asynccontextmanager
async def following(follower: PolicyFollower, look_seconds: float = LOOK_SECONDS) -> AsyncIterator[None]:
    """Follow beside a block."""
    async with beside(follower.run(look_seconds)):
        yield
