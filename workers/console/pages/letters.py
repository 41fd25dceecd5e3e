"""Mail and dead letters: how mail goes, which letters lie here and why, and one of them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from starlette.responses import Response

from domain.access import Permission
from domain.legible import is_text
from domain.mail.dead_letters import DeadLetter
from domain.mail.mail import Mail
from domain.mail.success import MailTally
from domain.operators import attribution
from persistence.encryption.cipher import CipherError
from persistence.repositories.dead_letters import WantedLetters
from persistence.repositories.mails import PendingMails
from persistence.store import Transaction
from workers.console.pages.visit import Visit, go, render, times_of
from workers.console.views.letter_board import (
    AGES,
    AskedLetters,
    CountedLetters,
    kind_of,
    letter_lines,
    letter_page,
    mail_day,
    read_letter_place,
    read_letters,
    run_state,
    state_of,
    stats,
    why,
)
from workers.upkeep.letter_orders import OpenedLetter, open_letter

PAGE = 50
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SAID = {"redriving": "done", "purged": "done", "changed": "stopped", "busy": "stopped", "none": "stopped"}
SAID_OF_ONE = {"no_reason": "stopped", "sealed": "stopped", "none": "stopped", "busy": "stopped"}
Found = tuple[DeadLetter, Mail | None]


async def letters_page(visit: Visit) -> Response:
    """The list, with its numbers."""
    query = visit.request.query_params
    asked, after = read_letters(query), read_letter_place(query)
    wanted = asked.wanted(visit.now)

    async def look(
        tx: Transaction,
    ) -> tuple[Sequence[DeadLetter], CountedLetters, Sequence[MailTally], PendingMails, CountedLetters]:
        page = await tx.dead_letters.list(wanted, limit=PAGE + 1, after=after)
        counted = await _counted(tx, wanted, visit.now)
        all_of = counted if not asked.is_narrowed else await _counted(tx, WantedLetters(), visit.now)
        mails = await tx.figures.mails_since(visit.now - DAY)
        return page, counted, mails, await tx.mails.pending(visit.now), all_of

    page, counted, mails, pending, all_of = await visit.console.store.look(look)
    times, said = times_of(visit), query.get("said", "")
    last = page[PAGE - 1] if len(page) > PAGE else None
    return render(
        visit,
        "letters.html",
        asked=asked,
        ages=list(AGES),
        lines=letter_lines(page[:PAGE], times),
        stats=stats(counted, asked, times),
        known=stats(all_of, AskedLetters(), times),
        mail=mail_day(mails, pending, times),
        next_page=asked.address(after=last.moved_at.isoformat(), id=last.outbox_id) if last else "",
        is_first=after is None,
        can_steer=visit.may(Permission.STEER_MAIL) and counted.number > counted.on_its_way,
        said=said if said in SAID else "",
        tone=SAID.get(said, ""),
        number=_number(query.get("n", "")),
        **_run(visit),
    )


async def letters_progress(visit: Visit) -> Response:
    """How sending again goes, for the page that renews itself."""
    return render(visit, "letters_progress.html", **_run(visit))


def _run(visit: Visit) -> dict[str, object]:
    run = visit.console.redrives.newest
    begun = times_of(visit).at(run.begun_at) if run else None
    return {"run": run, "run_state": run_state(run, visit.words) if run else None, "run_begun": begun}


async def _counted(tx: Transaction, wanted: WantedLetters, now: datetime) -> CountedLetters:
    letters, entries = tx.dead_letters, await tx.letter_entries.since(wanted, now - DAY)
    return CountedLetters(
        number=await letters.count(wanted),
        on_its_way=await letters.count(replace(wanted, on_its_way=True)),
        last_hour=sum(at >= now - HOUR for at in entries.values()),
        last_day=len(entries),
        oldest=await letters.oldest(),
        without_room=await tx.mails.count_without_room(),
        codes=await letters.by_code(wanted),
        companies=await letters.by_company(wanted),
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 0


async def one_letter(visit: Visit) -> Response:
    """One letter without what it says; one that is gone is a page that says so."""
    found = await find_letter(visit)
    return (
        render(visit, "error.html", 404, message="letters.gone", status=404)
        if found is None
        else _letter(visit, found)
    )


async def find_letter(visit: Visit) -> Found | None:
    """The letter that the address names, and its mail."""
    outbox_id = visit.request.path_params["outbox_id"][:64]

    async def look(tx: Transaction) -> Found | None:
        letter = await tx.dead_letters.find(outbox_id) if "\0" not in outbox_id else None
        return None if letter is None else (letter, await tx.mails.find(outbox_id))

    return await visit.console.store.look(look)


async def read_letter(visit: Visit) -> Response:
    """What a letter says, for who says why; the look is kept first."""
    found, reason = await find_letter(visit), visit.field("reason")
    if found is None:
        return render(visit, "error.html", 404, message="letters.gone", status=404)
    path, given = letter_page(found[0].outbox_id), attribution(visit.person.signature, reason)
    if not given.reason or not is_text(reason):
        return go(path, said="no_reason")
    try:
        opened = await open_letter(visit.console.store, visit.console.mail.cipher, found, (given, visit.now))
    except CipherError:
        return go(path, said="sealed")
    return _letter(visit, found, opened)


def _letter(visit: Visit, found: Found, opened: OpenedLetter | None = None) -> Response:
    (letter, mail), times, words = found, times_of(visit), visit.words
    said = visit.request.query_params.get("said", "")
    return render(
        visit,
        "letter.html",
        letter=letter,
        mail=mail,
        page=letter_page(letter.outbox_id),
        state=state_of(letter, words),
        why=why(letter.last_failure_code, words),
        helps=words(f"letter_helps.{kind_of(letter.last_failure_code)}"),
        moved=times.at(letter.moved_at),
        failed=times.at(letter.last_failure_at),
        enqueued=times.at(letter.enqueued_at),
        ends=times.left(letter.expires_at),
        subject=_subject(mail, visit),
        opened=opened,
        said=said if said in SAID_OF_ONE else "",
        tone=SAID_OF_ONE.get(said, ""),
    )


def _subject(mail: Mail | None, visit: Visit) -> str:
    """What kind of notice it was."""
    name = f"notice.{mail.template}" if mail else ""
    return visit.words(name) if name and visit.words.knows(name) else visit.words("notice.other")
