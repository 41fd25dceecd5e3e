"""Coming in, by password or by a link that opens once, and going out."""

from dataclasses import replace

from starlette.responses import Response

from workers.console.access.entrance import Credentials, Entered, LoginRefusal
from workers.console.access.forms import CSRF_FIELD, own_path
from workers.console.access.tokens import new_token
from workers.console.pages.visit import FORM_COOKIE, SESSION_COOKIE, Visit, go, render

TOO_MANY_REQUESTS = 429


async def login_page(visit: Visit) -> Response:
    """The form; who is in already goes on."""
    if visit.session:
        return go(own_path(visit.request.query_params.get("next")))
    return login_form(visit, "", 200)


async def log_in(visit: Visit) -> Response:
    """Login and password: in, or the form again with the same answer whoever is unknown."""
    if not visit.console.settings.password_login:
        return login_form(visit, "provider_login.only", 403)
    place = visit.request.client.host if visit.request.client else ""
    given = Credentials(visit.field("login"), visit.field("password"), place, held_token(visit))
    came = await visit.console.entrance.log_in(given)
    match came:
        case Entered():
            return let_in(visit, came, own_path(visit.field("next")))
        case LoginRefusal.TOO_MANY:
            return login_form(visit, "login.too_many", TOO_MANY_REQUESTS)
        case LoginRefusal.WRONG:
            return login_form(visit, "login.wrong", 401)


async def link_page(visit: Visit) -> Response:
    """A link is opened by a button: what only looks at addresses does not spend it."""
    token = visit.request.query_params.get("token", "")
    return _with_form_cookie(visit, "link.html", 200, {"token": token})


async def by_link(visit: Visit) -> Response:
    """Spend a link."""
    came = await visit.console.entrance.by_link(visit.field("token"), held_token(visit))
    return let_in(visit, came, "/") if came else login_form(visit, "login.link_spent", 401)


async def log_out(visit: Visit) -> Response:
    """End the session, at the provider too if it was begun there; the cookie goes with it."""
    if visit.session:
        await visit.console.entrance.log_out(visit.session)
    gone = await _to_providers_exit(visit) or go("/login", bye="1", lang=visit.words.language)
    gone.delete_cookie(SESSION_COOKIE, path="/")
    return gone


async def _to_providers_exit(visit: Visit) -> Response | None:
    """By a page that leads there: browsers let no form of ours lead to another site."""
    way, base_url = visit.console.provider, visit.console.settings.base_url
    if way is None or base_url is None or not visit.person.comes_by_provider:
        return None
    exit_there = await way.end(base_url)
    if exit_there is None:
        return None
    outside = replace(visit, session=None)
    return render(outside, "provider_exit.html", exit=exit_there, name=_provider_name(visit))


def _provider_name(visit: Visit) -> str:
    return visit.console.settings.oidc_name or visit.words("provider_login.unnamed")


def held_token(visit: Visit) -> str:
    """The token of the session that a browser holds, open or not."""
    return visit.request.cookies.get(SESSION_COOKIE, "")


def login_form(visit: Visit, problem: str, status: int) -> Response:
    """The ways in, with what was wrong with the last."""
    query = visit.request.query_params
    onward = own_path(visit.field("next") or query.get("next"))
    said = "login.bye" if query.get("bye") and not problem else ""
    said = "own_password.changed" if query.get("changed") and not problem else said
    values = {"provider": _provider_name(visit) if visit.console.provider else ""}
    values |= {"has_password": "1" if visit.console.settings.password_login else ""}
    values |= {"problem": problem, "said": said, "next": onward, "login": visit.field("login")[:64]}
    return _with_form_cookie(visit, "login.html", status, values)


def _with_form_cookie(visit: Visit, template: str, status: int, values: dict[str, str]) -> Response:
    """Who is not in yet has no session to tie a form to: a cookie of its own does it."""
    token = visit.request.cookies.get(FORM_COOKIE) or new_token()
    answer = render(visit, template, status, **(values | {CSRF_FIELD: token}))
    answer.set_cookie(
        FORM_COOKIE,
        token,
        path="/",
        httponly=True,
        samesite="strict",
        secure=visit.console.settings.is_encrypted,
    )
    return answer


def let_in(visit: Visit, came: Entered, onward: str) -> Response:
    """On, with the cookie of the new session."""
    answer = go(onward)
    answer.delete_cookie(FORM_COOKIE, path="/")
    answer.set_cookie(
        SESSION_COOKIE,
        came.token,
        path="/",
        httponly=True,
        samesite="lax",
        max_age=int(visit.console.settings.session.total_seconds()),
        secure=visit.console.settings.is_encrypted,
    )
    return answer
