"""People as a provider tells of them: issuer and subject are who they are, our table says what they may."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from domain.access import LOGIN_MAX, AccessRefusal, Role, read_login, require_roles
from domain.legible import printable_line
from domain.operators import NAME_MAX, attribution, operator_text
from gateways.oidc.id_tokens import Claims
from persistence.repositories.operator_orders import OperatorOrder
from persistence.repositories.people import NewPerson, Person
from persistence.store import Transaction
from workers.config.oidc import OidcSettings

GROUPS_MOST = 2_000
RESERVED = frozenset({"local"})
"""Logins that this machine gives itself."""


@dataclass(frozen=True, slots=True)
class ToldPerson:
    """Somebody by a provider's word; `login` is what they would like to be called, never who they are."""

    issuer: str
    subject: str
    login: str
    name: str
    roles: frozenset[Role]

    @property
    def mark(self) -> str:
        """A few signs that are theirs alone."""
        return hashlib.sha256(f"{self.issuer} {self.subject}".encode()).hexdigest()[:10]


def read_told(claims: Claims, terms: OidcSettings) -> ToldPerson:
    """What we take from it: nothing that we do not know, and no role that is not mapped."""
    wanted = str(claims.get("preferred_username") or "").partition("@")[0]
    try:
        login = read_login(wanted)
    except AccessRefusal:
        login = ""
    name = operator_text(printable_line(str(claims.get("name") or "")[:NAME_MAX]), NAME_MAX)
    return ToldPerson(terms.issuer, str(claims["sub"]), login, name, _roles(claims, terms))


def _roles(claims: Claims, terms: OidcSettings) -> frozenset[Role]:
    given = _named(claims, terms.roles_claim)
    groups = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    known = (terms.roles[one] for one in groups[:GROUPS_MOST] if isinstance(one, str) and one in terms.roles)
    roles = frozenset[Role]().union(*known)
    try:
        require_roles(roles)
    except AccessRefusal:
        return frozenset()
    return roles


def _named(claims: Claims, name: str) -> object:
    """A claim by its name, which may itself hold dots; otherwise by the path that they make."""
    if name in claims:
        return claims[name]
    found: object = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


async def let_in(tx: Transaction, told: ToldPerson, now: datetime) -> Person | None:
    """Who they are here, with the roles of today; who was not known now is. Each change is on record."""
    person = await tx.people.find_provided(told.issuer, told.subject)
    if person is None:
        return await _added(tx, told, now)
    if person.disabled_at is None and person.roles != told.roles:
        await tx.people.set_roles(person.person_id, told.roles)
        await tx.people_sessions.end_all(person.person_id)
        await _keep(tx, "person roles", f"{person.login}: {_names(told.roles)}", told, now)
    if told.name and person.disabled_at is None and person.name != told.name:
        await tx.people.rename(person.person_id, told.name)
        await _keep(tx, "person name", f"{person.login}: {told.name}", told, now)
    return await tx.people.find_provided(told.issuer, told.subject)


async def _added(tx: Transaction, told: ToldPerson, now: datetime) -> Person | None:
    """With the login they would like if nobody has it; somebody else's is never theirs."""
    for login in _logins(told):
        name = told.name or login
        new = NewPerson(login, name, told.roles, issuer=told.issuer, subject=told.subject)
        if await tx.people.add(new, now=now):
            await _keep(tx, "person add", f"{login}: {_names(told.roles)}", told, now)
            break
    return await tx.people.find_provided(told.issuer, told.subject)


def _logins(told: ToldPerson) -> Iterator[str]:
    if told.login and told.login not in RESERVED:
        yield told.login
        yield f"{told.login[: LOGIN_MAX - 1 - len(told.mark)]}-{told.mark}"
    yield f"oidc-{told.mark}"


async def _keep(tx: Transaction, action: str, what: str, told: ToldPerson, now: datetime) -> None:
    given = attribution(told.issuer, what)
    await tx.orders.keep(OperatorOrder(action, given.by, given.reason), now=now)


def _names(roles: frozenset[Role]) -> str:
    return ", ".join(sorted(roles))
