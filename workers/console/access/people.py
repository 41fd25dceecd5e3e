"""Letting people in and out: each change is an order on record, sealed with who made it."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from domain.access import AccessRefusal, Role, require_roles
from domain.operators import NAME_MAX, attribution, operator_text
from persistence.repositories.operator_orders import OperatorOrder
from persistence.repositories.people import NewPerson, Person
from persistence.store import Store, Transaction

Change = Callable[[Transaction], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class PeopleDesk:
    """Changes who may come in, in the name of `by`."""

    store: Store
    by: str

    async def add(self, new: NewPerson, now: datetime) -> None:
        """Let somebody in; a login is given once."""
        what = f"{new.login}: {', '.join(sorted(new.roles))}"

        async def add(tx: Transaction) -> None:
            if not await tx.people.add(new, now=now):
                raise AccessRefusal(f"{new.login} is known already: see `reenvio console person list`.")

        await self._do("person add", what, add, now)

    async def set_password(self, login: str, password_hash: str, now: datetime) -> None:
        """Another password; whoever is logged in with the old one is out."""

        async def change(tx: Transaction) -> None:
            person = await _own(tx, login)
            await tx.people.set_password(person.person_id, password_hash, now=now)
            await tx.people_sessions.end_all(person.person_id)

        await self._do("person password", login, change, now)

    async def disable(self, login: str, now: datetime) -> None:
        """Somebody comes in no more, and is out everywhere at once."""

        async def change(tx: Transaction) -> None:
            person = await _known(tx, login)
            await tx.people.disable(person.person_id, now=now)
            await tx.people_sessions.end_all(person.person_id)

        await self._do("person disable", login, change, now)

    async def enable(self, login: str, now: datetime) -> None:
        """Let somebody in again, with the password and the roles they had."""

        async def change(tx: Transaction) -> None:
            person = await _known(tx, login)
            if person.disabled_at is None:
                raise AccessRefusal(f"{login} is not disabled: nothing to do.")
            await tx.people.enable(person.person_id)

        await self._do("person enable", login, change, now)

    async def set_roles(self, login: str, roles: Collection[Role], now: datetime) -> None:
        """Other roles, instead of all that they had; who is logged in comes in anew."""
        require_roles(roles)

        async def change(tx: Transaction) -> None:
            person = await _own(tx, login)
            await tx.people.set_roles(person.person_id, roles)
            await tx.people_sessions.end_all(person.person_id)

        await self._do("person roles", f"{login}: {', '.join(sorted(roles))}", change, now)

    async def give_link(self, login: str, token_hash: str, ends_at: datetime, now: datetime) -> None:
        """Somebody comes in once without a password, soon."""

        async def change(tx: Transaction) -> None:
            person = await _own(tx, login)
            await tx.people_sessions.offer_link(token_hash, person.person_id, ends_at=ends_at)

        await self._do("person link", login, change, now)

    async def _do(self, action: str, what: str, change: Change, now: datetime) -> None:
        given = attribution(self.by, what)

        async def do(tx: Transaction) -> None:
            await change(tx)
            await tx.orders.keep(OperatorOrder(action, given.by, given.reason), now=now)

        await self.store.run(do)


async def _known(tx: Transaction, login: str) -> Person:
    person = await tx.people.find(login)
    if person is None:
        raise AccessRefusal(f"Nobody has the login {login}: see `reenvio console person list`.")
    return person


async def _own(tx: Transaction, login: str) -> Person:
    """Somebody whose access is given here; what a provider says of its people is said there."""
    person = await _known(tx, login)
    if person.comes_by_provider:
        raise AccessRefusal(f"{login} comes in by the login provider: password, links and roles are its own.")
    return person


def read_name(text: str) -> str:
    """A name as it may be kept."""
    name = operator_text(text, NAME_MAX)
    if not name:
        raise AccessRefusal("Give the person's name, as colleagues read it.")
    return name
