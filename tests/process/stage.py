"""What process tests work with: start a claim, watch it, let engine time pass."""

import asyncio
import dataclasses
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import uuid4

from pyzeebe import ZeebeClient
from pyzeebe.proto.gateway_pb2 import (
    ResolveIncidentRequest,
    SetVariablesRequest,
    UpdateJobRetriesRequest,
)
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from bpmn.names import ProcessId
from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.submission import PayerGateway, SendResult, Submission
from gateways.engine_clock import EngineClock
from gateways.practice.scripted import Answer, Script, ScriptedPayer
from gateways.zeebe import engine
from persistence.repositories.claims import ClaimRow
from tests.process.records import Record, Records
from workers.app.composition import App
from workers.config.settings import Settings
from workers.payers.limits import LimitsByPayer

PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.05
Seen = TypeVar("Seen")
_numbers = itertools.count(1)


class Payers:
    """A scripted payer whose script grows as tests start claims; it remembers what it was sent."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[Answer, ...]] = {}
        self.sent: list[Submission] = []

    async def send(self, submission: Submission, now: datetime) -> SendResult:
        """Answer by the claim's script."""
        self.sent.append(submission)
        return await ScriptedPayer(Script(answers=self.answers)).send(submission, now)

    def sends(self, claim_id: ClaimId) -> int:
        """How often a claim was sent."""
        return sum(submission.claim_id == claim_id.value for submission in self.sent)


@dataclass(frozen=True, slots=True)
class Claim:
    """A started claim and its process instance."""

    id: ClaimId
    instance: int


@dataclass(frozen=True)
class Stage:
    """The open application, the engine's clock, and the payers' script."""

    app: App
    clock: EngineClock
    settings: Settings
    payers: Payers
    records: Records
    run_id: str = field(default_factory=lambda: uuid4().hex[:8])

    def new_claim_id(self) -> ClaimId:
        """An id that no other test and no other run uses."""
        return ClaimId(f"CLM-{self.run_id}-{next(_numbers)}")

    @asynccontextmanager
    async def worker(
        self, payer: PayerGateway | None = None, limits: LimitsByPayer | None = None
    ) -> AsyncIterator[None]:
        """A worker with all handlers in this process."""
        limits = limits or self.app.payer_limits
        app = dataclasses.replace(self.app, payer=payer or self.payers, payer_limits=limits)
        stop = asyncio.Event()
        task = asyncio.create_task(app.worker(name=f"test-{self.run_id}").run(stop))
        try:
            yield
        finally:
            stop.set()
            await task

    async def start(self, *answers: Answer, **variables: Any) -> Claim:
        """Start a claim whose payer will answer so."""
        claim_id = self.new_claim_id()
        self.payers.answers[claim_id.value] = answers
        return await self.run(ProcessId.SUB_06, claim_id, payerId="payer-1", **variables)

    async def run(self, process: str, claim_id: ClaimId | None = None, **variables: Any) -> Claim:
        """Start an instance of any deployed process."""
        client = ZeebeClient(self.app.channel, max_connection_retries=-1)
        claim_id = claim_id or self.new_claim_id()
        created = await client.run_process(process, {"claimId": claim_id.value} | variables)
        return Claim(claim_id, created.process_instance_key)

    async def row(self, claim: Claim) -> ClaimRow | None:
        """The claim as stored."""
        async with self.app.store.transaction() as tx:
            return await tx.claims.find(claim.id.value)

    async def reaches(self, claim: Claim, state: ClaimState, *, retry_count: int | None = None) -> ClaimRow:
        """Wait until the claim is in a state (with a count)."""

        async def look() -> ClaimRow | None:
            row = await self.row(claim)
            if row is None or row.state is not state or retry_count not in (None, row.retry_count):
                return None
            return row

        return await eventually(look, f"{claim.id} {state} {retry_count}")

    async def pass_the_wait(self, claim: Claim) -> None:
        """Let engine time pass until just after the claim's timer is due."""
        row = await self.reaches(claim, ClaimState.WAITING)
        assert row.next_retry_time is not None
        await self.pass_until(row.next_retry_time)

    async def pass_until(self, moment: datetime) -> None:
        """Move the engine's clock to a second after a moment, if that is still to come."""
        ahead = moment - await self.clock.now()
        if ahead > timedelta():
            await self.clock.advance(ahead + timedelta(seconds=1))

    async def ended(self, claim: Claim) -> list[str]:
        """Wait until the process instance has completed; the ids of its completed elements, in order."""

        async def look() -> list[str] | None:
            done = self.records.completed(claim.instance)
            return done[:-1] if done and done[-1].startswith(tuple(ProcessId)) else None

        return await eventually(look, f"{claim.id} to end")

    async def completes(self, claim: Claim, element: str) -> None:
        """Wait until an element of the instance has completed."""

        async def look() -> bool | None:
            return element in self.records.completed(claim.instance) or None

        await eventually(look, f"{element} of {claim.id}")

    async def incident(self, claim: Claim) -> Record:
        """Wait for the instance's incident."""

        async def look() -> Record | None:
            found = self.records.of_instance(claim.instance, "INCIDENT", "CREATED")
            return found[-1] if found else None

        return await eventually(look, f"an incident of {claim.id}")

    async def mend(self, claim: Claim, incident: Record, **variables: Any) -> None:
        """What an operator does in Operate: correct variables, then retry."""
        stub: Any = GatewayStub(self.app.channel)
        corrected = json.dumps(variables)
        await stub.SetVariables(
            SetVariablesRequest(elementInstanceKey=claim.instance, variables=corrected, local=False)
        )
        await stub.UpdateJobRetries(UpdateJobRetriesRequest(jobKey=incident.value["jobKey"], retries=1))
        await stub.ResolveIncident(ResolveIncidentRequest(incidentKey=incident.key))

    async def events(self, claim: Claim) -> list[str]:
        """What the journal says happened, in order."""
        async with self.app.store.transaction() as tx:
            return [entry.event for entry in await tx.journal.of_claim(claim.id.value)]


async def eventually(look: Callable[[], Awaitable[Seen | None]], what: str) -> Seen:
    """Look again and again until something is seen; fails after a minute with what was awaited."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if (seen := await look()) is not None:
                return seen
            await asyncio.sleep(LOOK_SECONDS)
    raise AssertionError(what)


def restart(config: engine.EngineConfig) -> None:
    """Stop and start on the same data and the same ports, as a service would."""
    engine.stop(config)
    engine.start(config, engine.SilentReporter())
