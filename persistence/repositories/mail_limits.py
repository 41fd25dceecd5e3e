"""Mail's limits as all workers share them: paces under lock, and what is under way."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Column, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.mail.limits import MailMeter
from persistence.database.dialect import among, insert_into
from persistence.database.rows import row_of
from persistence.database.wrong_clock import latest_end
from persistence.tables import mail_meters as meters
from persistence.tables import mail_permits as permits


@dataclass(frozen=True, slots=True)
class MailPermit:
    """One mail that may leave, and until when it counts if nobody says that it has ended."""

    permit_id: str
    company_id: str
    until: datetime


class MailPaces:
    """Meters by scope; whoever takes permits locks theirs first, so races end here."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def lock(self, scopes: Collection[str], *, now: datetime) -> Mapping[str, MailMeter]:
        """The meters, ours alone until the transaction ends; one never seen has all its room."""
        found = await self._locked(scopes)
        if missing := [MailMeter(scope, now) for scope in scopes if scope not in found]:
            new = insert_into(self._connection, meters).on_conflict_do_nothing()
            await self._connection.execute(new, [row_of(meter) for meter in missing])
            found = await self._locked(scopes)
        return found

    async def _locked(self, scopes: Collection[str]) -> Mapping[str, MailMeter]:
        """Always in the order of their names: no two can wait for each other."""
        query = select(meters).where(among(self._connection, meters.c.scope, scopes))
        rows = await self._connection.execute(query.order_by(meters.c.scope).with_for_update())
        return {row.scope: MailMeter(**row._mapping) for row in rows}

    async def save(self, changed: Iterable[MailMeter]) -> None:
        """Keep meters that this transaction has locked."""
        new = insert_into(self._connection, meters)
        statement = new.on_conflict_do_update(
            index_elements=[meters.c.scope], set_={"paced_until": new.excluded.paced_until}
        )
        await self._connection.execute(statement, [row_of(meter) for meter in changed])

    async def under_way(self, company_id: str, *, now: datetime, longest: timedelta) -> tuple[int, int]:
        """How many mails are under way, of all and of one company.

        One whose worker died counts until its time is over; one that a clock ahead of ours has given
        longer than any may have does not count.
        """
        counts = (permits.c.until > now) & (permits.c.until <= latest_end(now, longest))
        of_one = func.count().filter(permits.c.company_id == company_id)
        row = (await self._connection.execute(select(func.count(), of_one).where(counts))).one()
        return row[0], row[1]

    async def began(self, begun: Iterable[MailPermit]) -> None:
        """Count mails as under way."""
        new = insert_into(self._connection, permits)
        await self._connection.execute(new, [row_of(permit) for permit in begun])

    async def ended(self, permit_ids: Collection[str]) -> None:
        """Count them no more."""
        gone = delete(permits).where(among(self._connection, permits.c.permit_id, permit_ids))
        await self._connection.execute(gone)

    async def forget(self, *, before: datetime, limit: int) -> int:
        """Remove some permits whose time is over, and meters that have all their room again."""
        lost = await self._past(permits.c.permit_id, permits.c.until, before, limit)
        idle = await self._past(meters.c.scope, meters.c.paced_until, before, limit)
        await self.ended(lost)
        unused = among(self._connection, meters.c.scope, idle) & (meters.c.paced_until < before)
        gone = await self._connection.execute(delete(meters).where(unused))
        return len(lost) + gone.rowcount

    async def _past(
        self, key: Column[str], at: Column[datetime], before: datetime, limit: int
    ) -> Sequence[str]:
        query = select(key).where(at < before).order_by(at).limit(limit)
        return (await self._connection.execute(query)).scalars().all()
