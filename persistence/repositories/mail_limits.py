"""Mail's limits as all workers share them: paces under lock, and what is under way."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from sqlalchemy import Select, bindparam, case, delete, func, literal, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.mail.limits import MailMeter
from domain.mail.mail import MailState
from persistence.database.dialect import among, insert_into
from persistence.database.rows import row_of
from persistence.database.wrong_clock import latest_end
from persistence.tables import mail_meters as meters
from persistence.tables import mails

_MOMENT = mails.c.sending_until.type
UNDER_WAY = select(func.count(), func.count().filter(mails.c.company_id == bindparam("company"))).where(
    mails.c.state == MailState.PENDING,
    mails.c.sending_until > bindparam("now", type_=_MOMENT),
    mails.c.sending_until <= bindparam("latest", type_=_MOMENT),
)
"""Made once: it is asked for every mail."""


class MailPaces:
    """Meters by scope; whoever begins a mail locks its meters first, so races end here."""

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
        rows = await self._connection.execute(self._these(scopes).order_by(meters.c.scope).with_for_update())
        return {row.scope: MailMeter(**row._mapping) for row in rows}

    async def find(self, scopes: Collection[str], *, now: datetime) -> Mapping[str, MailMeter]:
        """The meters as they stand; one never seen has all its room."""
        rows = await self._connection.execute(self._these(scopes))
        found = {row.scope: MailMeter(**row._mapping) for row in rows}
        return {scope: found.get(scope, MailMeter(scope, now)) for scope in scopes}

    async def save(self, changed: Collection[MailMeter]) -> None:
        """Keep meters that this transaction has locked, in one statement."""
        if changed:
            kind = meters.c.paced_until.type
            values = {meter.scope: literal(meter.paced_until, kind) for meter in changed}
            reach = case(values, value=meters.c.scope, else_=meters.c.paced_until)
            these = among(self._connection, meters.c.scope, values)
            await self._connection.execute(update(meters).where(these).values(paced_until=reach))

    async def under_way(self, company_id: str, *, now: datetime, longest: timedelta) -> tuple[int, int]:
        """How many mails are being sent, of all and of one company.

        One whose worker died counts until its lease is over; one that a clock ahead of ours has given
        longer than any may have does not count.
        """
        moments = {"now": now, "latest": latest_end(now, longest)}
        row = (await self._connection.execute(UNDER_WAY, moments | {"company": company_id})).one()
        return row[0], row[1]

    async def forget(self, *, before: datetime, limit: int) -> int:
        """Remove some meters that have had all their room for long."""
        query = select(meters.c.scope).where(meters.c.paced_until < before)
        idle = (await self._connection.execute(query.order_by(meters.c.paced_until).limit(limit))).scalars()
        unused = among(self._connection, meters.c.scope, idle.all()) & (meters.c.paced_until < before)
        return (await self._connection.execute(delete(meters).where(unused))).rowcount

    def _these(self, scopes: Collection[str]) -> Select[tuple[str, datetime]]:
        return select(meters).where(among(self._connection, meters.c.scope, scopes))
