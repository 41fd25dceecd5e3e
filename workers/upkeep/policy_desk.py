"""What a person orders of the policy: another comes into force, or the one before returns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from domain.errors import Trouble
from domain.kpis.definitions import BIL_004, BIL_005
from domain.operators import Attribution
from domain.policy import Policy
from domain.ports import Clock
from persistence.repositories.adopted_policies import (
    OWN_POLICY,
    AdoptionKind,
    KeptAdoption,
    NewAdoption,
)
from persistence.repositories.operator_orders import NO_SUBJECT
from persistence.store import Store, Transaction
from workers.claims.ordering import Subject, ordered
from workers.policy.file import FILE_MAX_BYTES, PolicySource, parse_policy
from workers.policy.following import PolicyOrigin, UnreadableAdoption, origin_of, policy_of

HISTORY_SHOWN = 50
DECIDING = (BIL_004, BIL_005)
"""The profiles that our jobs decide by: a policy without one of them would stop every claim."""


class AdoptionRefused(Trouble):
    """A policy that is not adopted, or not taken back; `kind` names why."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class InForce:
    """The policy in force as it was found; `mark` tells whether it still is.

    `trouble` says why what was adopted cannot be used: workers that run keep what they had, and none begins.
    """

    policy: Policy
    text: str = field(repr=False)
    origin: PolicyOrigin
    adoption: KeptAdoption | None
    trouble: str | None = None

    @property
    def mark(self) -> str:
        """What an order names as seen."""
        return f"{self.adoption.adoption_id if self.adoption else OWN_POLICY}:{self.policy.label}"


@dataclass(frozen=True, slots=True)
class PolicyDesk:
    """Adopts policies and takes them back, each on record with who and why before it comes into force."""

    store: Store
    source: PolicySource
    clock: Clock

    async def in_force(self) -> InForce:
        """The policy in force, from the database; without an adoption the settings' own."""
        newest = await self.store.look(lambda tx: tx.adopted_policies.newest())
        return self._found(newest)

    async def history(self) -> Sequence[KeptAdoption]:
        """Who adopted what, newest first."""
        return await self.store.look(lambda tx: tx.adopted_policies.history(HISTORY_SHOWN))

    async def version(self, adoption_id: int) -> tuple[Policy, str] | None:
        """A policy that was in force once, and its text; the settings' own by OWN_POLICY."""
        if adoption_id == OWN_POLICY:
            return self.source.own, self.source.own_text
        found = await self.store.look(lambda tx: tx.adopted_policies.find(adoption_id))
        if found is None:
            return None
        policy = policy_of(found)
        return (policy, found.document or "") if policy else (self.source.own, self.source.own_text)

    async def checked(self, text: str) -> Policy:
        """A policy that could be adopted now: valid, another than all before it, in the same zone."""
        if len(text.encode()) > FILE_MAX_BYTES:
            raise AdoptionRefused("too_large", f"The file is larger than {FILE_MAX_BYTES} bytes.")
        policy = parse_policy(text)
        for profile in DECIDING:
            policy.under(profile)
        labels = await self.store.look(lambda tx: tx.adopted_policies.labels())
        self._require_new(policy, (await self.in_force()).policy, labels)
        return policy

    async def adopt(self, text: str, given: Attribution, *, seen: str) -> int:
        """Bring a policy into force in place of the one that was `seen`; returns the adoption's number."""
        policy, now = await self.checked(text), await self.clock.now()
        async with ordered(self.store, f"policy adopt {policy.label}", Subject(), given, now):

            async def keep(tx: Transaction) -> int:
                before = await self._locked(tx, seen)
                self._require_new(policy, before.policy, await tx.adopted_policies.labels())
                number = before.adoption.adoption_id if before.adoption else OWN_POLICY
                new = _adoption(policy, text, number, given)
                return await tx.adopted_policies.keep(new, now=now)

            return await self.store.run(keep)

    async def undo(self, given: Attribution, *, seen: str) -> int:
        """Bring the policy before the one that was `seen` back into force."""
        now = await self.clock.now()
        async with ordered(self.store, "policy undo", Subject(), given, now):
            return await self.store.run(lambda tx: self._undo(tx, given, seen, now))

    async def before(self) -> tuple[Policy, int] | None:
        """What an undo would bring back, and under which number it was kept; None where there is nothing."""
        newest = await self.store.look(lambda tx: tx.adopted_policies.newest())
        if newest is None or newest.returns_to is None:
            return None
        found = await self.version(newest.returns_to)
        return (found[0], newest.returns_to) if found else None

    async def _undo(self, tx: Transaction, given: Attribution, seen: str, now: datetime) -> int:
        newest = (await self._locked(tx, seen)).adoption
        if newest is None or newest.returns_to is None:
            raise AdoptionRefused("nothing_before", "No policy was adopted that could be taken back.")
        target = await tx.adopted_policies.find(newest.returns_to)
        if target is not None:
            policy_of(target)  # what cannot be used does not come back into force
        new = NewAdoption(
            kind=AdoptionKind.UNDONE,
            policy=target.policy if target else None,
            document=target.document if target else None,
            replaces=newest.adoption_id,
            returns_to=target.returns_to if target else None,
            ordered_by=given.by,
            reason=given.reason,
        )
        return await tx.adopted_policies.keep(new, now=now)

    async def _locked(self, tx: Transaction, seen: str) -> InForce:
        """The policy in force, with nobody else adopting until the transaction ends."""
        await tx.audit.lock([NO_SUBJECT])
        found = self._found(await tx.adopted_policies.newest())
        if found.mark != seen:
            raise AdoptionRefused(
                "changed",
                f"Another policy is in force than the one you saw ({found.policy.label}): nothing was done. "
                "Look at it, and ask again.",
            )
        return found

    def _found(self, newest: KeptAdoption | None) -> InForce:
        own, text, trouble = self.source.own, self.source.own_text, None
        try:
            policy = policy_of(newest) if newest else None
        except UnreadableAdoption as broken:
            policy, trouble = None, str(broken)
        if newest and policy:
            return InForce(policy, newest.document or "", PolicyOrigin.ADOPTED, newest)
        return InForce(own, text, origin_of(self.source, None), newest, trouble)

    def _require_new(self, policy: Policy, now: Policy, labels: Sequence[str]) -> None:
        """Refuse what is in force, a version that stands for another content, and another zone."""
        if policy.label == now.label:
            raise AdoptionRefused("same", f"Policy {policy.label} is in force already.")
        others = [label for label in (*labels, now.label, self.source.own.label) if label != policy.label]
        if any(label.rpartition("+")[0] == policy.version for label in others):
            raise AdoptionRefused(
                "version",
                f'Version "{policy.version}" stands for another policy already: give this one a version of '
                "its own, for decisions keep it and the jitter depends on it.",
            )
        if str(policy.zone) != str(self.source.own.zone):
            raise AdoptionRefused(
                "zone",
                f"The zone is {policy.zone}, and {self.source.own.zone} in the settings: periods and reports "
                "go by the latter. Change it in POLICY_FILE.",
            )


def _adoption(policy: Policy, text: str, before: int, given: Attribution) -> NewAdoption:
    return NewAdoption(
        kind=AdoptionKind.ADOPTED,
        policy=policy.label,
        document=text,
        replaces=before,
        returns_to=before,
        ordered_by=given.by,
        reason=given.reason,
    )
