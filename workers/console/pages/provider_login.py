"""To the login provider and back."""

from collections.abc import Mapping
from types import MappingProxyType

from starlette.responses import RedirectResponse, Response

from workers.config.oidc import BACK_PATH
from workers.console.access.forms import own_path
from workers.console.access.handshake import LASTS
from workers.console.access.provider_entrance import CameBack, ProviderEntrance, ProviderRefusal
from workers.console.pages.login import held_token, let_in, login_form
from workers.console.pages.visit import Visit, go

PROVIDER_COOKIE = "reenvio_provider"
ANSWER_MOST = 8_000
SAID: Mapping[ProviderRefusal, tuple[str, int]] = MappingProxyType(
    {
        ProviderRefusal.DOUBTED: ("provider_login.doubted", 401),
        ProviderRefusal.AWAY: ("provider_login.away", 503),
        ProviderRefusal.TOO_MANY: ("login.too_many", 429),
        ProviderRefusal.NO_ROLE: ("provider_login.no_role", 403),
        ProviderRefusal.DISABLED: ("provider_login.disabled", 403),
    }
)


async def to_provider(visit: Visit) -> Response:
    """Off to the provider; by a link, since browsers let no form of ours lead to another site."""
    way = visit.console.provider
    onward = own_path(visit.request.query_params.get("next"))
    if way is None or visit.session:
        return go(onward if visit.session else "/login")
    begun = await way.begin(onward)
    if isinstance(begun, ProviderRefusal):
        return _refused(visit, begun)
    handshake, address = begun
    sent = RedirectResponse(address, status_code=303)
    sent.set_cookie(
        PROVIDER_COOKIE,
        handshake.kept,
        path=BACK_PATH,
        httponly=True,
        samesite="lax",  # strict ones do not come back from another site
        max_age=int(LASTS.total_seconds()),
        secure=visit.console.settings.is_encrypted,
    )
    return sent


async def from_provider(visit: Visit) -> Response:
    """Back again: in, or the login with what was wrong; the cookie is spent whatever came of it."""
    way = visit.console.provider
    answer = go("/login") if way is None else await _came_back(visit, way)
    answer.delete_cookie(PROVIDER_COOKIE, path=BACK_PATH)
    return answer


async def _came_back(visit: Visit, way: ProviderEntrance) -> Response:
    request = visit.request
    place = request.client.host if request.client else ""
    kept = request.cookies.get(PROVIDER_COOKIE, "")
    came = await way.come_back(CameBack(kept, _given(visit), place, held_token(visit)))
    return _refused(visit, came) if isinstance(came, ProviderRefusal) else let_in(visit, *came)


def _given(visit: Visit) -> Mapping[str, str]:
    """What the address says, each name once: of an answer that says something twice nothing is taken."""
    pairs = visit.request.query_params.multi_items()
    is_plain = len(visit.request.url.query) <= ANSWER_MOST and len(dict(pairs)) == len(pairs)
    return dict(pairs) if is_plain else {}


def _refused(visit: Visit, why: ProviderRefusal) -> Response:
    return login_form(visit, *SAID[why])
