"""Access: who may come in, with which roles; let in, changed, kept out, each on record."""

from collections.abc import Awaitable, Callable
from urllib.parse import quote

from starlette.responses import Response

from domain.access import AccessRefusal, Role, read_login, require_password, require_roles
from persistence.repositories.people import NewPerson, Person
from workers.console.access.entrance import LINK_OPENS
from workers.console.access.people import PeopleDesk, read_name
from workers.console.access.tokens import new_token, token_hash
from workers.console.pages.visit import Visit, go, render, times_of
from workers.console.words import DEFAULT, LANGUAGES

SAID = {
    "added": "done",
    "roles": "done",
    "disabled": "done",
    "enabled": "done",
    "password": "done",
    "bad_roles": "stopped",
    "bad_password": "stopped",
}
Changing = Callable[[Visit, PeopleDesk, Person], Awaitable[str]]


async def people_page(visit: Visit) -> Response:
    """Everybody, and the form to let somebody in."""
    return await _people(visit)


async def _people(visit: Visit, problem: str = "") -> Response:
    everybody = await visit.console.store.look(lambda tx: tx.people.all())
    return render(
        visit,
        "people.html",
        400 if problem else 200,
        people=everybody,
        roles=list(Role),
        languages=list(LANGUAGES),
        problem=problem,
        typed={name: visit.field(name)[:120] for name in ("login", "name", "language")},
        chosen=_roles(visit),
    )


async def add_person(visit: Visit) -> Response:
    """Let somebody in: with a first password, or with a link that opens once."""
    try:
        login = read_login(visit.field("login"))
    except AccessRefusal:
        return await _people(visit, "bad_login")
    try:
        name = read_name(visit.field("name"))
    except AccessRefusal:
        return await _people(visit, "bad_name")
    roles, password = _roles(visit), visit.field("password")
    try:
        require_roles(roles)
    except AccessRefusal:
        return await _people(visit, "bad_roles")
    if password and not _is_fit(password, login):
        return await _people(visit, "bad_password")
    return await _added(visit, NewPerson(login, name, roles, _language(visit)), password)


async def _added(visit: Visit, new: NewPerson, password: str) -> Response:
    hashed = await visit.console.entrance.passwords.hashed(password) if password else None
    person = NewPerson(new.login, new.name, new.roles, new.language, hashed)
    try:
        await _desk(visit).add(person, await visit.console.entrance.clock.now())
    except AccessRefusal:
        return await _people(visit, "taken")
    if password:
        return go(_page(new.login), said="added")
    found = await _found(visit, new.login)
    return await _with_link(visit, found) if found else go("/people")


async def person_page(visit: Visit) -> Response:
    """One person."""
    person = await _found(visit, visit.request.path_params["login"])
    return _unknown(visit) if person is None else _person(visit, person)


def _person(visit: Visit, person: Person, link: str = "") -> Response:
    said, times = visit.request.query_params.get("said", ""), times_of(visit)
    return render(
        visit,
        "person.html",
        person=person,
        page=_page(person.login),
        roles=list(Role),
        is_self=person.person_id == visit.person.person_id,
        since=times.at(person.created_at),
        password_set=times.at(person.password_set_at) if person.password_set_at else None,
        disabled=times.at(person.disabled_at) if person.disabled_at else None,
        link=link,
        minutes=int(LINK_OPENS.total_seconds() // 60),
        said=said if said in SAID else "",
        tone=SAID.get(said, ""),
    )


async def change_roles(visit: Visit) -> Response:
    """Other roles, from the next click on."""
    return await _changed(visit, _set_roles)


async def disable_person(visit: Visit) -> Response:
    """Out everywhere at once."""
    return await _changed(visit, _disable)


async def enable_person(visit: Visit) -> Response:
    """In again."""
    return await _changed(visit, _enable)


async def give_password(visit: Visit) -> Response:
    """Another password; whoever is logged in with the old one is out."""
    return await _changed(visit, _set_password)


async def give_link(visit: Visit) -> Response:
    """A link that lets somebody in once; it is shown this once."""
    person = await _found(visit, visit.request.path_params["login"])
    if person is None:
        return _unknown(visit)
    if person.person_id == visit.person.person_id or person.disabled_at or person.comes_by_provider:
        return go(_page(person.login))
    return await _with_link(visit, person)


async def _with_link(visit: Visit, person: Person) -> Response:
    token, now = new_token(), await visit.console.entrance.clock.now()
    await _desk(visit).give_link(person.login, token_hash(token), now + LINK_OPENS, now)
    url = visit.request.url
    base = visit.console.settings.base_url or f"{url.scheme}://{url.netloc}"
    return _person(visit, person, f"{base}/login/link?token={token}")


async def _changed(visit: Visit, change: Changing) -> Response:
    """Nobody changes their own access: another administrator does."""
    person = await _found(visit, visit.request.path_params["login"])
    if person is None:
        return _unknown(visit)
    is_providers = person.comes_by_provider and change in (_set_roles, _set_password)
    if person.person_id == visit.person.person_id or is_providers:
        return go(_page(person.login))
    return go(_page(person.login), said=await change(visit, _desk(visit), person))


async def _set_roles(visit: Visit, desk: PeopleDesk, person: Person) -> str:
    try:
        await desk.set_roles(person.login, _roles(visit), await visit.console.entrance.clock.now())
    except AccessRefusal:
        return "bad_roles"
    return "roles"


async def _disable(visit: Visit, desk: PeopleDesk, person: Person) -> str:
    await desk.disable(person.login, await visit.console.entrance.clock.now())
    return "disabled"


async def _enable(visit: Visit, desk: PeopleDesk, person: Person) -> str:
    await desk.enable(person.login, await visit.console.entrance.clock.now())
    return "enabled"


async def _set_password(visit: Visit, desk: PeopleDesk, person: Person) -> str:
    password = visit.field("password")
    if not _is_fit(password, person.login):
        return "bad_password"
    hashed = await visit.console.entrance.passwords.hashed(password)
    await desk.set_password(person.login, hashed, await visit.console.entrance.clock.now())
    return "password"


def _is_fit(password: str, login: str) -> bool:
    try:
        require_password(password, login)
    except AccessRefusal:
        return False
    return True


async def _found(visit: Visit, login: str) -> Person | None:
    try:
        known = read_login(login)
    except AccessRefusal:
        return None
    return await visit.console.store.look(lambda tx: tx.people.find(known))


def _desk(visit: Visit) -> PeopleDesk:
    return PeopleDesk(visit.console.store, visit.person.signature)


def _roles(visit: Visit) -> frozenset[Role]:
    return frozenset(role for role in Role if visit.field(f"role_{role}"))


def _language(visit: Visit) -> str:
    chosen = visit.field("language")
    return chosen if chosen in LANGUAGES else DEFAULT


def _page(login: str) -> str:
    return f"/people/{quote(login, safe='')}"


def _unknown(visit: Visit) -> Response:
    return render(visit, "error.html", 404, message="people.unknown", status=404)
