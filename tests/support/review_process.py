"""Plays the processes of claims in review: what they are told comes about."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from domain.claim_state import ClaimState
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext
from persistence.store import Store
from tests.support.builders import later
from tests.support.console_stage import ConsoleStage, Outside, console_stage
from tests.support.faults.messages import MessageBroker, message_broker
from tests.support.waiting import eventually
from workers.payers.limits import LimitsByPayer


@dataclass(frozen=True, slots=True)
class ReviewProcesses:
    """The engine's side: which claims were told what, and what they do then."""

    broker: MessageBroker
    store: Store

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(one.correlationKey, self._variables(one.variables)) for one in self.broker.taken]

    async def follow(self, number: int, end: ClaimState | None = None) -> None:
        """Wait until so many claims were told; each goes on when it is."""
        for n in range(number):

            async def is_told(n: int = n) -> bool:
                return len(self.broker.taken) > n

            await eventually(is_told)
            claim = self.broker.taken[n].correlationKey
            await self._go_on(claim, end)

    async def _go_on(self, claim: str, end: ClaimState | None) -> None:
        now = later(minutes=1)
        if end:
            await self.store.run(lambda tx: tx.claims.close(claim, end, now=now, reason=None))
            return
        row = await self.store.look(lambda tx: tx.claims.find(claim))
        assert row
        await self.store.run(
            lambda tx: tx.claims.put(claim, row.payer_id, ClaimState.SUBMITTING, now=now, reason=None)
        )

    @staticmethod
    def _variables(text: str) -> str:
        read: Mapping[str, object] = json.loads(text)
        return str(read.get("reviewDecision"))


@asynccontextmanager
async def review_stage(
    store: Store, limits: LimitsByPayer | None = None, *, write_off_by_two: bool = False
) -> AsyncIterator[tuple[ConsoleStage, ReviewProcesses]]:
    """The console with an engine that hears it."""
    async with message_broker() as broker, open_channel(Plaintext(broker.address)) as channel:
        outside = Outside(ZeebeCommands(channel), limits=limits or LimitsByPayer())
        stage = console_stage(store, outside=outside, write_off_by_two=write_off_by_two)
        yield stage, ReviewProcesses(broker, store)
