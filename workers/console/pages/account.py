"""A person's own page: who they are here, and the language they read."""

from starlette.responses import Response

from domain.access import AccessRefusal, require_password
from workers.console.access.entrance import Credentials
from workers.console.access.forms import own_path
from workers.console.access.people import PeopleDesk
from workers.console.pages.visit import Visit, go, render
from workers.console.words import DEFAULT, LANGUAGES


async def account_page(visit: Visit) -> Response:
    """Name, roles, language."""
    return _account(visit)


def _account(visit: Visit, problem: str = "") -> Response:
    return render(
        visit,
        "account.html",
        400 if problem else 200,
        roles=sorted(visit.person.roles),
        languages=list(LANGUAGES),
        has_password=visit.person.password_hash is not None,
        may_have_password=_may_have_password(visit),
        problem=problem,
    )


def _may_have_password(visit: Visit) -> bool:
    """A password of their own would be a way in past the provider."""
    return visit.console.settings.password_login and not visit.person.comes_by_provider


async def choose_password(visit: Visit) -> Response:
    """Another password of one's own, by who knows the old one; they are logged out everywhere."""
    person, entrance, chosen = visit.person, visit.console.entrance, visit.field("password")
    if not _may_have_password(visit):
        return go("/account")
    try:
        require_password(chosen, person.login)
    except AccessRefusal:
        return _account(visit, "people_said.bad_password")
    if person.password_hash and not await _knows_old(visit):
        return _account(visit, "own_password.wrong")
    hashed = await entrance.passwords.hashed(chosen)
    desk = PeopleDesk(visit.console.store, person.signature)
    await desk.set_password(person.login, hashed, await entrance.clock.now())
    return go("/login", changed="1", lang=visit.words.language)


async def _knows_old(visit: Visit) -> bool:
    place = visit.request.client.host if visit.request.client else ""
    given = Credentials(visit.person.login, visit.field("old"), place)
    return await visit.console.entrance.knows_password(given)


async def choose_language(visit: Visit) -> Response:
    """Keep the language with the person."""
    chosen = visit.field("language")
    language = chosen if chosen in LANGUAGES else DEFAULT
    person_id = visit.person.person_id
    await visit.console.store.run(lambda tx: tx.people.speak(person_id, language))
    return go(own_path(visit.field("next"), "/account"))
