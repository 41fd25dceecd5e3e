"""One request of one person, and what pages work with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from domain.access import Permission
from domain.ports import Clock
from persistence.repositories.people import Person
from persistence.repositories.people_sessions import OpenSession
from persistence.store import Store
from workers.claims.bulk_desk import BulkDesk
from workers.claims.corrected_files import HandedFile
from workers.claims.deadlines import ClaimDeadlines
from workers.claims.reviewing import ClaimReviews
from workers.claims.steering import ClaimSteering
from workers.config.console import ConsoleSettings
from workers.console.access.entrance import Entrance
from workers.console.access.provider_entrance import ProviderEntrance
from workers.console.views.rendering import asset, templates
from workers.console.views.times import Times
from workers.console.words import Words
from workers.mail.queueing import MailQueue
from workers.mail.redrive_runs import RedriveRuns
from workers.payers.limits import LimitsByPayer
from workers.upkeep.payer_steering import PayerSteering
from workers.upkeep.trial_runs import PolicyRoom

SESSION_COOKIE, FORM_COOKIE = "reenvio_session", "reenvio_form"


@dataclass(frozen=True, slots=True)
class Console:
    """What pages work with; `clock` is the time that claims live by, in `zone` for people."""

    store: Store
    clock: Clock
    zone: tzinfo
    settings: ConsoleSettings
    entrance: Entrance
    limits: LimitsByPayer
    steering: ClaimSteering
    deadlines: ClaimDeadlines
    reviews: ClaimReviews
    bulk: BulkDesk
    payers: PayerSteering
    mail: MailQueue
    redrives: RedriveRuns
    policies: PolicyRoom
    provider: ProviderEntrance | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody asks for something; `form` is empty where nothing was sent."""

    request: Request
    console: Console
    words: Words
    now: datetime
    session: OpenSession | None = None
    form: Mapping[str, str] | None = None
    file: bytes = field(default=b"", repr=False)
    files: tuple[HandedFile, ...] = ()

    @property
    def person(self) -> Person:
        """Who asks; only where a route asks for a permission is there always somebody."""
        if self.session is None:
            raise LookupError("nobody is logged in")
        return self.session.person

    def may(self, permission: str) -> bool:
        """Whether who asks may do this."""
        return self.session is not None and Permission(permission) in self.session.person.permissions

    def field(self, name: str) -> str:
        """What was typed into a field."""
        return (self.form or {}).get(name, "")

    @property
    def is_fragment(self) -> bool:
        """Whether a part of a page is asked for, by the page itself."""
        return self.request.headers.get("hx-request") == "true"

    @property
    def path_and_query(self) -> str:
        """What was asked for."""
        query = self.request.url.query
        return f"{self.request.url.path}?{query}" if query else self.request.url.path


def render(visit: Visit, template: str, status: int = 200, /, **values: object) -> Response:
    """A page."""
    shown = {"visit": visit, "t": visit.words, "asset": asset, "csrf": csrf_of(visit), **values}
    return HTMLResponse(templates().get_template(template).render(shown), status_code=status)


def times_of(visit: Visit) -> Times:
    """Says moments as who asks reads them."""
    return Times(visit.now, visit.console.zone, visit.words)


def csrf_of(visit: Visit) -> str:
    """The token that forms of this page carry."""
    return visit.session.csrf if visit.session else ""


def go(path: str, **query: str) -> Response:
    """On to another page, by GET."""
    return RedirectResponse(f"{path}?{urlencode(query)}" if query else path, status_code=303)
