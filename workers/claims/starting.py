"""Starts a received claim's process: by message, once, however often it is asked for."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bpmn.names import Message, Variable
from domain.outputs import iso_time
from gateways.zeebe.commands import ProcessMessage, ZeebeCommands
from persistence.repositories.claims import ClaimRow
from workers.claims.messages import KEEP_START

REMEMBERED = KEEP_START - timedelta(hours=1)
"""How long after its arrival the engine surely knows a claim's message again, clocks that differ included."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A received claim, by what its process is told."""

    claim_id: str
    payer_id: str
    deadline: datetime | None
    received_at: datetime


def ready(claim: ClaimRow) -> Ready:
    """A stored claim that waits to be started."""
    return Ready(claim.claim_id, claim.payer_id, claim.deadline, claim.created_at or claim.updated_at)


async def start(commands: ZeebeCommands, claim: Ready, now: datetime) -> bool:
    """Ask the engine for the claim's process; False when it remembers that it was asked.

    It forgets a message after KEEP_START. From then on none is left with it to wait: one that finds the
    claim's process at work is dropped, and cannot start a second one when the first has ended.
    """
    keep = KEEP_START if now - claim.received_at < REMEMBERED else timedelta()
    deadline = {Variable.DEADLINE: iso_time(claim.deadline)} if claim.deadline else {}
    variables = {Variable.CLAIM_ID: claim.claim_id, Variable.PAYER_ID: claim.payer_id} | deadline
    return await commands.publish(
        ProcessMessage(Message.CLAIM_READY, claim.claim_id, variables, keep, claim.claim_id)
    )
