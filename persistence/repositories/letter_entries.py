"""How fast mail comes to the dead letters: what came since a moment, be it here or gone again."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.lifecycle_events import EmailDeadLetteredEvent
from persistence.repositories.dead_letters import WantedLetters
from persistence.repositories.mails import NO_ROOM
from persistence.repositories.outbox import event_id
from persistence.tables import dead_letters as letters
from persistence.tables import mails, outbox

DIED = EmailDeadLetteredEvent.__name__
OUT_OF_ORDER = timedelta(hours=1)
"""So much later than its neighbours a fact may be committed that bears an earlier moment."""
Entry = tuple[str, datetime]


class LetterEntries:
    """Mails that came to the dead letters, each once: one that came back from a redrive has not come anew."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def since(self, wanted: WantedLetters, moment: datetime) -> Mapping[str, datetime]:
        """When each came: those that lie here, found no room, or are gone, whose first death is on record."""
        died, homeless = await self._first_deaths(wanted, moment), await self._without_room(wanted, moment)
        here = select(letters.c.outbox_id, letters.c.moved_at)
        rows = await self._connection.execute(here.where(wanted.condition(), letters.c.moved_at >= moment))
        return dict(died) | dict(homeless) | {row.outbox_id: row.moved_at for row in rows}

    async def _first_deaths(self, wanted: WantedLetters, moment: datetime) -> list[Entry]:
        """Found backwards from the newest fact: no more of them are read than the time has."""
        before = select(outbox.c.position).where(outbox.c.created_at < moment - OUT_OF_ORDER)
        place = await self._connection.scalar(before.order_by(outbox.c.position.desc()).limit(1))
        query = select(outbox.c.event_id, outbox.c.claim_id, outbox.c.payload, outbox.c.created_at)
        later = (outbox.c.position > (place or 0)) & (outbox.c.created_at >= moment)
        rows = await self._connection.execute(query.where(later, outbox.c.type == DIED))
        return [entry for row in rows for entry in _first(wanted, *row)]

    async def _without_room(self, wanted: WantedLetters, moment: datetime) -> list[Entry]:
        known = mails.c
        query = select(known.outbox_id, known.last_failure_at, known.last_failure_code, known.company_id)
        rows = await self._connection.execute(query.where(NO_ROOM, known.last_failure_at >= moment))
        return [(mail, at) for mail, at, code, company in rows if wanted.fits(code, company, at)]


def _first(wanted: WantedLetters, identity: str, chain: str, payload: str, at: datetime) -> Iterator[Entry]:
    """The mail of a death, if it is one of those wanted and this was its first."""
    try:
        death = json.loads(payload)
        mail, code, company = death["outboxId"], death["errorCode"], death["companyId"]
    except (ValueError, LookupError, TypeError):  # no fact any more: the relay has set it aside
        return
    if identity == event_id(chain, mail, 0, DIED) and wanted.fits(code, company, at):
        yield mail, at
