"""Input that was rejected: in the trail of its claim, or of its process instance when it names no claim."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.audit.chain import AuditDraft, AuditEvent, Head, message_form, seal_all
from persistence.audit.events import Audit
from persistence.audit.seals import UNSEALED, Seals
from persistence.audit.trail import RECEIVED, REJECTED
from persistence.database.canonical import canonical
from persistence.repositories.outbox import Outbox, OutboxEvent, event_id
from persistence.tables import audit_events as events

MESSAGE = "RetryInputRejected"


@dataclass(frozen=True, slots=True)
class Rejection:
    """Which input of which job broke which rule; its value is not kept.

    `claim_id` is None when the claim's id was itself missing or wrong.
    """

    job_key: int
    process_instance_key: int
    claim_id: str | None
    profile: str
    rule: str
    input: str
    at: datetime

    @property
    def chain(self) -> str:
        """Whose trail it belongs to; no claim's id looks like an instance's."""
        return self.claim_id or instance_chain(self.process_instance_key)

    @property
    def facts(self) -> dict[str, object]:
        """What was rejected, the same for each delivery of the job."""
        return {"rule": self.rule, "input": self.input} | self._origin

    @property
    def _origin(self) -> dict[str, object]:
        return {"processInstanceKey": str(self.process_instance_key), "profile": self.profile}

    def trail(self) -> tuple[AuditDraft, AuditDraft]:
        """Received, then rejected."""
        return self._event(RECEIVED, self._origin), self._event(REJECTED, self.facts)

    def _event(self, name: str, data: dict[str, object]) -> AuditDraft:
        return AuditDraft(self.chain, name, self.at, self.job_key, canonical(data))


def instance_chain(process_instance_key: int) -> str:
    """The name of a process instance's own trail."""
    return f"@instance:{process_instance_key}"  # no claim's id begins like this


class Rejections:
    """Writes rejections down, within the caller's transaction."""

    def __init__(self, connection: AsyncConnection, seals: Seals = UNSEALED) -> None:
        self._connection = connection
        self._audit = Audit(connection, seals)

    async def keep(self, rejection: Rejection) -> None:
        """Keep it, and tell the queue; a job that comes again with the same broken input adds nothing."""
        audit = self._audit
        await audit.lock([rejection.chain])
        if await self._is_known(rejection):
            return
        head = (await audit.heads([rejection.chain])).get(rejection.chain, Head())
        sealed = seal_all(rejection.trail(), head)
        await audit.append(sealed)
        await Outbox(self._connection).add([_message(rejection, sealed[-1], [*map(message_form, sealed)])])

    async def _is_known(self, rejection: Rejection) -> bool:
        query = select(func.count()).where(
            events.c.claim_id == rejection.chain,
            events.c.job_key == rejection.job_key,
            events.c.event == REJECTED,
            events.c.data.in_((canonical(rejection.facts), canonical(_earlier_form(rejection)))),
        )
        return bool(await self._connection.scalar(query))


def _earlier_form(rejection: Rejection) -> dict[str, object]:
    """As versions before wrote it: a job that comes again after an upgrade is known."""
    return rejection.facts | {"processInstanceKey": rejection.process_instance_key}


def _message(rejection: Rejection, last: AuditEvent, sealed: list[dict[str, object]]) -> OutboxEvent:
    payload = rejection.facts | {"claimId": rejection.claim_id, "auditEvents": sealed}
    return OutboxEvent(
        event_id=event_id(last.hash, MESSAGE),
        claim_id=rejection.chain,
        type=MESSAGE,
        payload=canonical(payload),
        created_at=rejection.at,
    )
