"""Mail's limits as all workers share them: paces under lock, and what is under way."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ScalarSelect, bindparam, case, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.mail.limits import MailMeter
from domain.mail.mail import MailState
from persistence.database.dialect import among, insert_into
from persistence.database.rows import row_of
from persistence.database.wrong_clock import latest_end
from persistence.tables import mail_meters as meters
from persistence.tables import mails

_MOMENT = mails.c.sending_until.type


def _reach(scope: str) -> ScalarSelect[datetime]:
    return select(meters.c.paced_until).where(meters.c.scope == bindparam(scope)).scalar_subquery()


# made once, since they are asked for every mail: to build them anew costs as much as to ask
UNDER_WAY = select(func.count(), func.count().filter(mails.c.company_id == bindparam("company"))).where(
    mails.c.state == MailState.PENDING,
    mails.c.sending_until > bindparam("now", type_=_MOMENT),
    mails.c.sending_until <= bindparam("latest", type_=_MOMENT),
)
TRAFFIC = UNDER_WAY.add_columns(_reach("first"), _reach("second"))
PAIR = meters.c.scope.in_((bindparam("first"), bindparam("second")))
LOCKED = select(meters).where(PAIR).order_by(meters.c.scope).with_for_update()
"""Always in the order of their names: no two can wait for each other."""
MOVED = (
    update(meters)
    .where(PAIR)
    .values(
        paced_until=case(
            (meters.c.scope == bindparam("first"), bindparam("first_until", type_=_MOMENT)),
            else_=bindparam("second_until", type_=_MOMENT),
        )
    )
)


@dataclass(frozen=True, slots=True)
class AskedTraffic:
    """Whose traffic: a pair of scopes, the company whose mails count beside all, at a moment.

    A mail whose worker died is under way until its lease is over; one that a clock ahead of ours has given
    `longest`, than which none may have longer, is not.
    """

    scopes: tuple[str, str]
    company_id: str
    now: datetime
    longest: timedelta

    def values(self) -> dict[str, object]:
        """As the statements want them."""
        pair = dict(zip(("first", "second"), self.scopes, strict=True))
        return pair | {"company": self.company_id, "now": self.now, "latest": self.latest}

    @property
    def latest(self) -> datetime:
        """When a lease ends at the latest."""
        return latest_end(self.now, self.longest)


@dataclass(frozen=True, slots=True)
class MailTraffic:
    """How far each scope's sends reach, and how many mails are being sent: of all, of the company."""

    meters: Mapping[str, MailMeter]
    under_way: tuple[int, int]


class MailPaces:
    """Meters by scope; whoever begins a mail locks its meters first, so races end here."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def lock(self, asked: AskedTraffic) -> MailTraffic:
        """The traffic, ours alone to change until the transaction ends; a meter never seen has all its room.

        SQLite's transactions write one at a time, so one statement reads it all. On PostgreSQL a statement
        counts what was there when it began, which may be before its lock: it counts in one of its own.
        """
        if self._connection.dialect.name != "postgresql":
            found, under_way = await self._read(asked)
            return MailTraffic(await self._complete(asked, found), under_way)
        locked = await self._complete(asked, await self._locked(asked))
        row = (await self._connection.execute(UNDER_WAY, asked.values())).one()
        return MailTraffic(locked, (row[0], row[1]))

    async def look(self, asked: AskedTraffic) -> MailTraffic:
        """The traffic as it stands; a meter never seen has all its room."""
        found, under_way = await self._read(asked)
        unseen = {scope: MailMeter(scope, asked.now) for scope in asked.scopes}
        return MailTraffic(unseen | found, under_way)

    async def _read(self, asked: AskedTraffic) -> tuple[dict[str, MailMeter], tuple[int, int]]:
        row = (await self._connection.execute(TRAFFIC, asked.values())).one()
        reaches = zip(asked.scopes, row[2:], strict=True)
        return {scope: MailMeter(scope, until) for scope, until in reaches if until}, (row[0], row[1])

    async def _complete(self, asked: AskedTraffic, found: dict[str, MailMeter]) -> Mapping[str, MailMeter]:
        """The meters with those that were never seen, which are kept from now on."""
        missing = [MailMeter(scope, asked.now) for scope in asked.scopes if scope not in found]
        if not missing:
            return found
        new = insert_into(self._connection, meters).on_conflict_do_nothing()
        await self._connection.execute(new, [row_of(meter) for meter in missing])
        return await self._locked(asked)

    async def _locked(self, asked: AskedTraffic) -> dict[str, MailMeter]:
        first, second = asked.scopes
        rows = await self._connection.execute(LOCKED, {"first": first, "second": second})
        return {row.scope: MailMeter(**row._mapping) for row in rows}

    async def save(self, first: MailMeter, second: MailMeter) -> None:
        """Keep a pair of meters that this transaction has locked."""
        until = {"first_until": first.paced_until, "second_until": second.paced_until}
        await self._connection.execute(MOVED, {"first": first.scope, "second": second.scope} | until)

    async def forget(self, *, before: datetime, limit: int) -> int:
        """Remove some meters that have had all their room for long."""
        query = select(meters.c.scope).where(meters.c.paced_until < before)
        idle = (await self._connection.execute(query.order_by(meters.c.paced_until).limit(limit))).scalars()
        unused = among(self._connection, meters.c.scope, idle.all()) & (meters.c.paced_until < before)
        return (await self._connection.execute(delete(meters).where(unused))).rowcount
