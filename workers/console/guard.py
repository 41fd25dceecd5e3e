"""Before any page: who asks, whether they may, and whether their form is ours."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import Response

from domain.access import Permission
from workers.claims.corrected_files import HandedFile
from workers.console.access.forms import read_form, read_upload, read_uploads, require_own_form
from workers.console.pages.visit import FORM_COOKIE, SESSION_COOKIE, Console, Visit, go, render
from workers.console.words import DEFAULT, words_of

Answering = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Page:
    """One route: what answers, and who may ask; without a permission anybody, logged in or not.

    A page that `renews` itself keeps nobody logged in. One that `takes_file` reads a form with a file,
    one that `takes_files` with as many at most.
    """

    method: str
    path: str
    answer: Answering
    permission: Permission | None
    renews: bool = False
    takes_file: bool = False
    takes_files: int = 0


def guarded(page: Page, console: Console) -> Callable[[Request], Awaitable[Response]]:
    """The page behind its guard."""

    async def answering(request: Request) -> Response:
        visit = await arrived(request, console, is_there=not page.renews)
        if page.permission and visit.session is None:
            return _to_login(visit)
        if page.permission and not visit.may(page.permission):
            return render(visit, "denied.html", 403)
        return await page.answer(await _checked(visit, page) if page.method == "POST" else visit)

    return answering


async def arrived(request: Request, console: Console, *, is_there: bool) -> Visit:
    """Who asks, in their language."""
    token = request.cookies.get(SESSION_COOKIE, "")
    session = await console.entrance.session(token, is_there=is_there)
    chosen = request.query_params.get("lang", DEFAULT)
    words = words_of(session.person.language if session else chosen)
    return Visit(request, console, words, await console.clock.now(), session)


async def _checked(visit: Visit, page: Page) -> Visit:
    """The visit with its form, which bears the token of the session or, to come in, of a cookie."""
    most, files = visit.console.reviews.intake.reader.terms.max_bytes, tuple[HandedFile, ...]()
    if page.takes_file:
        upload = await read_upload(visit.request, most)
        form, file = upload.fields, upload.data
    elif page.takes_files:
        form, given = await read_uploads(visit.request, most, page.takes_files)
        file, files = b"", tuple(HandedFile(one.name, one.data) for one in given)
    else:
        form, file = await read_form(visit.request), b""
    held = visit.session.csrf if visit.session and page.permission else ""
    expected = held if page.permission else visit.request.cookies.get(FORM_COOKIE, "")
    require_own_form(visit.request, form, expected, visit.console.settings.base_url)
    return replace(visit, form=form, file=file, files=files)


def _to_login(visit: Visit) -> Response:
    """A person is led to the login and back; a part of a page leads its whole page there."""
    if visit.is_fragment:
        return Response(status_code=401, headers={"HX-Redirect": "/login"})
    asked = visit.path_and_query if visit.request.method == "GET" else "/"
    return go("/login") if asked == "/" else go("/login", next=asked)
