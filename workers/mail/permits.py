"""Permits to send, shared by all processes: the database keeps how much room the limits leave."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from domain.mail.limits import MailLimits, MailMeter, Room, given_back, room, taken
from domain.ports import Clock
from persistence.database.trouble import DatabaseError
from persistence.repositories.mail_limits import MailPermit
from persistence.store import Store, Transaction
from workers.runtime.lanes import Allowance, LanesUnknownError

ALL = "all"
CLEAN_EVERY, KEPT, CLEANED = timedelta(hours=1), timedelta(days=1), 1_000


@dataclass(frozen=True, slots=True)
class SharedMailLimits:
    """For all mail together, for each company, and for some companies their own.

    A send that has not ended counts as under way for `lease`: longer than any send may take.
    """

    overall: MailLimits = field(default_factory=MailLimits)
    per_company: MailLimits = field(default_factory=MailLimits)
    own: Mapping[str, MailLimits] = field(default_factory=dict)
    lease: timedelta = timedelta(minutes=5)

    def of(self, scope: str) -> MailLimits:
        """The limits of a scope."""
        return self.overall if scope == ALL else self.own.get(scope.removeprefix("of:"), self.per_company)


def scope_of(company_id: str) -> str:
    """Under which name a company's pace is kept; no company's is that of all."""
    return f"of:{company_id}"


@dataclass(frozen=True, slots=True)
class HeldPermit:
    """A permit that was given: whose, and when."""

    company_id: str
    at: datetime


class SharedPermits:
    """Takes permits, and gives back what has ended or was not used, in one transaction where it can."""

    def __init__(
        self, store: Store, clock: Clock, limits: SharedMailLimits, new_id: Callable[[], str]
    ) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits
        self._new_id = new_id
        self._held: dict[str, HeldPermit] = {}
        self._ended: set[str] = set()
        self._unused: set[str] = set()
        self._clean_at: datetime | None = None
        self._alone = asyncio.Lock()

    async def take(self, tenant: str, most: int) -> Allowance:
        """Permits for at most so many mails of a company, as far as both limits leave room."""
        async with self._alone:
            now, over = await self._clock.now(), self._over()
            ids = [self._new_id() for _ in range(most)]
            exchange = asyncio.create_task(self._exchanged(tenant, ids, over, now))
            try:
                allowance = await asyncio.shield(exchange)
            except BaseException:
                await self._end(exchange, over)
                self._ended.update(ids)  # they may have been given all the same
                raise
            self._forget(over)
            self._held |= {permit: HeldPermit(tenant, now) for permit in allowance.permits}
            return allowance

    async def _end(self, exchange: asyncio.Task[Allowance], over: "OverPermits") -> None:
        """Let it come to its end: a transaction that is cut short keeps others waiting."""
        await asyncio.wait([exchange])
        if not exchange.cancelled() and exchange.exception() is None:
            self._forget(over)

    async def _exchanged(
        self, tenant: str, ids: Sequence[str], over: "OverPermits", now: datetime
    ) -> Allowance:
        async def take(tx: Transaction) -> Allowance:
            exchange = PermitExchange(tx, self._limits, now)
            await exchange.open(tenant, over)
            return await exchange.grant(tenant, ids)

        with told_apart():
            return await self._store.run(take)

    def ended(self, permit: str) -> None:
        """A mail is under way no more."""
        self._ended.add(permit)

    def unused(self, permits: Sequence[str]) -> None:
        """No mail was found for these."""
        self._unused.update(permits)

    async def settle(self) -> None:
        """Write down what has ended or was not used; once an hour, remove what nobody came back for."""
        async with self._alone:
            now, over = await self._clock.now(), self._over()
            cleans = self._clean_at is None or now >= self._clean_at
            if over.ended or over.unused or cleans:
                await self._write(over, now, cleans=cleans)
                self._clean_at = now + CLEAN_EVERY if cleans else self._clean_at
                self._forget(over)

    async def _write(self, over: "OverPermits", now: datetime, *, cleans: bool) -> None:
        async def write(tx: Transaction) -> None:
            exchange = PermitExchange(tx, self._limits, now)
            await exchange.open(None, over)
            await exchange.close()
            if cleans:
                await tx.mail_paces.forget(before=now - KEPT, limit=CLEANED)

        with told_apart():
            await self._store.run(write)

    def _over(self) -> "OverPermits":
        unused = {permit: self._held[permit] for permit in self._unused}
        return OverPermits(frozenset(self._ended), unused)

    def _forget(self, over: "OverPermits") -> None:
        self._ended -= over.ended
        self._unused -= set(over.unused)
        for permit in (*over.ended, *over.unused):
            self._held.pop(permit, None)


@dataclass(frozen=True, slots=True)
class OverPermits:
    """Permits that have ended, and those that were not used."""

    ended: frozenset[str]
    unused: Mapping[str, HeldPermit]


class PermitExchange:
    """One exchange of permits: the meters concerned, locked until its transaction ends."""

    def __init__(self, tx: Transaction, limits: SharedMailLimits, now: datetime) -> None:
        self._paces = tx.mail_paces
        self._limits = limits
        self._now = now
        self._meters: dict[str, MailMeter] = {}

    async def open(self, company_id: str | None, over: OverPermits) -> None:
        """Lock the meters of all concerned, and take permits back; what was not used is room again."""
        concerned = {ALL, *(scope_of(one.company_id) for one in over.unused.values())}
        concerned |= {scope_of(company_id)} if company_id else set()
        self._meters = dict(await self._paces.lock(concerned, now=self._now))
        for one in over.unused.values():
            for scope in (ALL, scope_of(one.company_id)):
                limits, held = self._limits.of(scope), self._now - one.at
                self._meters[scope] = given_back(self._meters[scope], limits, 1, held)
        if gone := over.ended | set(over.unused):
            await self._paces.ended(gone)

    async def grant(self, company_id: str, ids: Sequence[str]) -> Allowance:
        """As many permits of these as both limits leave room for."""
        rooms = await self._rooms(company_id)
        number = min(len(ids), *(one.number for one in rooms.values()))
        for scope in rooms:
            self._meters[scope] = taken(self._meters[scope], self._limits.of(scope), number, self._now)
        await self.close()
        until = self._now + self._limits.lease
        given = [MailPermit(permit, company_id, until) for permit in ids[:number]]
        if given:
            await self._paces.began(given)
        return self._allowance(given, rooms)

    async def close(self) -> None:
        """Keep the meters."""
        await self._paces.save(self._meters.values())

    async def _rooms(self, company_id: str) -> Mapping[str, Room]:
        lease, now = self._limits.lease, self._now
        of_all, of_one = await self._paces.under_way(company_id, now=now, longest=lease)
        counts = {ALL: of_all, scope_of(company_id): of_one}
        return {
            scope: room(self._meters[scope], self._limits.of(scope), under_way=count, now=now)
            for scope, count in counts.items()
        }

    def _allowance(self, given: Sequence[MailPermit], rooms: Mapping[str, Room]) -> Allowance:
        if given:
            return Allowance(tuple(permit.permit_id for permit in given))
        again = max(one.again_at for one in rooms.values() if one.number == 0) - self._now
        return Allowance((), again.total_seconds(), for_all=rooms[ALL].number == 0)


@contextmanager
def told_apart() -> Iterator[None]:
    """Trouble with the database is no fault of the worker that asks."""
    try:
        yield
    except DatabaseError as error:
        raise LanesUnknownError("the limits of mail cannot be read") from error
