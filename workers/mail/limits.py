"""The limits of mail, shared by all processes: the database keeps how much room they leave.

Whether a mail may go is settled in the transaction that begins its attempt, so it costs no commit of its own,
and what is under way is what the mails' own rows say: a worker that dies leaves nothing else behind.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from domain.mail.attempts import LONGEST_LEASE
from domain.mail.limits import BUSY, MailLimits, MailMeter, Room, room, taken
from domain.mail.tenants import KEPT
from domain.ports import Clock
from persistence.database.trouble import DatabaseError
from persistence.repositories.mail_limits import AskedTraffic, MailTraffic
from persistence.store import Store, Transaction
from workers.runtime.lanes import Allowance, LanesUnknownError

ALL = "all"
PACES_KEPT, AT_ONCE = timedelta(days=1), 1_000
LONGEST_HOLD = timedelta(hours=1)
"""How far ahead a mail is set back at the most, however many of its company were set back before it."""


def nobody_counts(_company_id: str) -> None:
    """Nobody has counted the mail as processed."""


@dataclass(frozen=True, slots=True)
class SharedMailLimits:
    """For all mail together, for each company, and for some companies their own."""

    overall: MailLimits = field(default_factory=MailLimits)
    per_company: MailLimits = field(default_factory=MailLimits)
    own: Mapping[str, MailLimits] = field(default_factory=dict)

    def of(self, scope: str) -> MailLimits:
        """The limits of a scope."""
        return self.overall if scope == ALL else self.own.get(scope.removeprefix("of:"), self.per_company)


def scope_of(company_id: str) -> str:
    """Under which name a company's pace is kept; no company's is that of all."""
    return f"of:{company_id}"


class MailLimiter:
    """Says whether a mail may go, and, while limits hold mail back, how many are worth taking.

    A mail that may not go is set back, each a little further than the one before it: not all of them come
    again at the moment at which one may go. `set_back` is told whose it was.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        limits: SharedMailLimits,
        set_back: Callable[[str], None] = nobody_counts,
    ) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits
        self._set_back = set_back
        self._tight: set[str] = set()
        self._reach: dict[str, datetime] = {}

    async def admit(self, tx: Transaction, company_id: str, now: datetime) -> timedelta | None:
        """Count a mail that begins in this transaction, and None; or how long it has to wait."""
        traffic = await tx.mail_paces.lock(_asked(company_id, now))
        rooms = self._rooms(company_id, traffic, now)
        if not all(one.number for one in rooms.values()):
            return self._held(company_id, rooms, now)
        before = [traffic.meters[scope] for scope in (ALL, scope_of(company_id))]
        overall, own = (self._taken(meter, now) for meter in before)
        if [overall, own] != before:
            await tx.mail_paces.save(overall, own)
        return None

    def _taken(self, meter: MailMeter, now: datetime) -> MailMeter:
        limits = self._limits.of(meter.scope)
        return taken(meter, limits, 1, now) if limits.interval else meter

    async def room(self, tenant: str, most: int) -> Allowance:
        """How many jobs of a company are worth taking; nobody is asked until a mail could not go."""
        scopes = {ALL, scope_of(tenant)}
        if not self._tight & scopes:
            return Allowance(most)
        now = await self._clock.now()

        with told_apart():
            traffic = await self._store.look(lambda tx: tx.mail_paces.look(_asked(tenant, now)))
        rooms = self._rooms(tenant, traffic, now)
        self._tight -= {scope for scope, one in rooms.items() if one.number > most}
        return _allowance(rooms, most, now)

    def _rooms(self, company_id: str, traffic: MailTraffic, now: datetime) -> Mapping[str, Room]:
        return {
            scope: room(traffic.meters[scope], self._limits.of(scope), under_way=count, now=now)
            for scope, count in zip((ALL, scope_of(company_id)), traffic.under_way, strict=True)
        }

    def _held(self, company_id: str, rooms: Mapping[str, Room], now: datetime) -> timedelta:
        full = [scope for scope, one in rooms.items() if one.number == 0]
        self._tight.update(full)
        for scope in full:
            step = max(self._limits.of(scope).interval, BUSY / (self._limits.of(scope).at_once or 1))
            before = self._reach.get(scope, now)
            self._reach[scope] = min(max(rooms[scope].again_at, before + step), now + LONGEST_HOLD)
        self._set_back(company_id)
        return max(self._reach[scope] for scope in full) - now


async def forget_idle(tx: Transaction, now: datetime) -> None:
    """Remove paces that hold nobody, and figures of turns that nobody has had for long."""
    await tx.mail_paces.forget(before=now - PACES_KEPT, limit=AT_ONCE)
    await tx.tenant_figures.forget(before=now - KEPT)


def _asked(company_id: str, now: datetime) -> AskedTraffic:
    return AskedTraffic((ALL, scope_of(company_id)), company_id, now, LONGEST_LEASE)


def _allowance(rooms: Mapping[str, Room], most: int, now: datetime) -> Allowance:
    if number := min(most, *(one.number for one in rooms.values())):
        return Allowance(number)
    again = max(one.again_at for one in rooms.values() if one.number == 0) - now
    return Allowance(0, again.total_seconds(), for_all=rooms[ALL].number == 0)


@contextmanager
def told_apart() -> Iterator[None]:
    """Trouble with the database is no fault of the worker that asks."""
    try:
        yield
    except DatabaseError as error:
        raise LanesUnknownError("the limits of mail cannot be read") from error
