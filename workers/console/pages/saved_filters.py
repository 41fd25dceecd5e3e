"""Filters of Claims that a person keeps, by a name of their own."""

from urllib.parse import parse_qsl

from starlette.responses import Response

from domain.legible import is_text
from domain.operators import operator_text
from workers.console.pages.visit import Visit, go
from workers.console.views.claim_list import read_asked

NAME_MOST, QUERY_MOST = 60, 2_000


async def keep_filter(visit: Visit) -> Response:
    """Keep what the list shows; one of the same name is replaced."""
    asked = read_asked(dict(parse_qsl(visit.field("query")[:QUERY_MOST])))
    given = visit.field("name")
    name, person_id = operator_text(given, NAME_MOST), visit.person.person_id
    if name and is_text(given) and asked.is_narrowed:
        address, now = asked.address(), visit.now
        await visit.console.store.run(lambda tx: tx.saved_filters.keep(person_id, name, address, now=now))
    return go(asked.address())


async def forget_filter(visit: Visit) -> Response:
    """One of one's own goes."""
    text, person_id = str(visit.request.path_params["filter_id"]), visit.person.person_id
    if text.isascii() and text.isdecimal() and len(text) < 16:
        await visit.console.store.run(lambda tx: tx.saved_filters.forget(person_id, int(text)))
    return go("/claims")
