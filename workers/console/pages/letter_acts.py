"""Dead letters sent again or removed: shown first, counted again at the moment of acting, on record."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from starlette.responses import Response

from domain.legible import is_text
from domain.mail.redrive import RedriveEnd, RedriveTerms
from domain.operators import Attribution, attribution
from persistence.repositories.dead_letters import WantedLetters
from persistence.store import Transaction
from workers.console.pages.letters import find_letter
from workers.console.pages.visit import Visit, go, render, times_of
from workers.console.views.letter_board import (
    letter_page,
    pinned,
    read_letters,
    why,
)
from workers.console.views.times import read_moment
from workers.mail.redrive import Redrive, RedriveTally
from workers.mail.redrive_runs import RedriveRun, Tell
from workers.upkeep.letter_orders import LetterOrder, purge_on_record, redrivable, redrive_letters

REDRIVE, PURGE = "redrive", "purge"
MINUTE = timedelta(minutes=1)
Counts = Sequence[tuple[str | None, int]]


@dataclass(frozen=True, slots=True)
class Previewed:
    """What an order would be about."""

    number: int
    codes: Counts
    companies: Counts
    on_its_way: int
    unreadable: int = 0


async def redrive_preview(visit: Visit) -> Response:
    """What would be sent again."""
    return await _preview(visit, REDRIVE)


async def purge_preview(visit: Visit) -> Response:
    """What would be removed."""
    return await _preview(visit, PURGE)


async def _preview(visit: Visit, act: str, problem: str = "") -> Response:
    query = visit.form or visit.request.query_params
    asked, moment = read_letters(query), visit.now
    shown = await _counted(visit, act, pinned(asked, moment))
    if not shown.number:
        return go(asked.address(said="none"))
    terms, words = RedriveTerms(), visit.words
    minutes = -(-shown.number // terms.per_minute)
    return render(
        visit,
        "letters_act.html",
        act=act,
        asked=asked,
        moment=moment.isoformat(),
        shown=shown,
        codes=[(why(code, words), number) for code, number in shown.codes],
        terms=terms,
        first=min(terms.wave_size(1), shown.number),
        ends=times_of(visit).lasting(minutes * MINUTE),
        problem=problem,
        reason=visit.field("reason")[:500],
    )


async def _counted(visit: Visit, act: str, wanted: WantedLetters) -> Previewed:
    at_rest = replace(wanted, on_its_way=False)

    async def look(tx: Transaction) -> Previewed:
        letters = tx.dead_letters
        going = await letters.count(replace(wanted, on_its_way=True))
        codes, companies = await letters.by_code(at_rest), await letters.by_company(at_rest)
        return Previewed(await letters.count(at_rest), codes, companies, going)

    shown = await visit.console.store.look(look)
    if act == PURGE:
        return shown
    found = await redrivable(visit.console.store, visit.console.mail.cipher, wanted)
    return replace(shown, number=len(found.ids), unreadable=found.unreadable)


async def redrive_all(visit: Visit) -> Response:
    """Send all that were shown again, if they are still as many."""
    given, moment = _given(visit), read_moment(visit.field("moment"))
    if given is None or moment is None:
        return await _preview(visit, REDRIVE, "no_reason")
    wanted = pinned(read_letters(visit.form or {}), min(moment, visit.now))
    found = await redrivable(visit.console.store, visit.console.mail.cipher, wanted)
    if visit.console.redrives.is_busy:
        return go("/letters", said="busy")
    if str(len(found.ids)) != visit.field("number"):
        return await _preview(visit, REDRIVE, "changed")
    return _begun(visit, found.ids, LetterOrder(given, visit.now, wanted, len(found.ids)))


async def redrive_one(visit: Visit) -> Response:
    """Send one letter again."""
    found, given = await find_letter(visit), _given(visit)
    if found is None:
        return render(visit, "error.html", 404, message="letters.gone", status=404)
    letter, path = found[0], letter_page(found[0].outbox_id)
    if given is None:
        return go(path, said="no_reason")
    wanted = WantedLetters(letter.last_failure_code, letter.company_id)
    able = await redrivable(visit.console.store, visit.console.mail.cipher, wanted)
    if letter.outbox_id not in able.ids:
        return go(path, said="none")
    if visit.console.redrives.is_busy:
        return go(path, said="busy")
    return _begun(visit, [letter.outbox_id], LetterOrder(given, visit.now, wanted, 1))


def _begun(visit: Visit, ids: Sequence[str], order: LetterOrder) -> Response:
    console = visit.console

    async def work(tell: Tell) -> tuple[RedriveTally, RedriveEnd]:
        run = Redrive(console.store, console.mail, console.clock, asyncio.sleep, tell=tell)
        return await redrive_letters(run, ids, order)

    run = RedriveRun(order.given.by, visit.now, RedriveTally(len(ids)))
    console.redrives.begin(run, work)
    return go("/letters", said="redriving")


async def purge_all(visit: Visit) -> Response:
    """Remove all that were shown, if they are still as many."""
    given, moment = _given(visit), read_moment(visit.field("moment"))
    if given is None or moment is None:
        return await _preview(visit, PURGE, "no_reason")
    asked = read_letters(visit.form or {})
    wanted = replace(pinned(asked, min(moment, visit.now)), on_its_way=False)
    number = await visit.console.store.look(lambda tx: tx.dead_letters.count(wanted))
    if str(number) != visit.field("number"):
        return await _preview(visit, PURGE, "changed")
    order = LetterOrder(given, visit.now, wanted, number)
    purged = await purge_on_record(visit.console.store, order, lambda _done: None)
    return go("/letters", said="purged", n=str(purged.gone))


def _given(visit: Visit) -> Attribution | None:
    """Who and why; None without a why."""
    reason = visit.field("reason")
    given = attribution(visit.person.signature, reason)
    return given if given.reason and is_text(reason) else None
