"""`reenvio dlq list | stats | export`: the dead letters as they lie."""

import json
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated

import typer

from domain.mail.dead_letters import AT_MOST, DeadLetter
from domain.operators import Attribution
from persistence.encryption.cipher import Cipher
from persistence.repositories.dead_letters import LetterPlace, WantedLetters
from persistence.repositories.mails import mail_context, open_mail
from persistence.store import Store
from workers.app.ciphers import opened_cipher
from workers.app.cluster import clock_here
from workers.claims.ordering import Subject, ordered
from workers.cli.database import with_store, with_trail
from workers.cli.dlq_options import (
    CodeOption,
    CompanyOption,
    NewerOption,
    OlderOption,
    none_fit,
    refuse,
    unopened_line,
    wanted_letters,
)
from workers.cli.dlq_show import state_of
from workers.cli.dlq_stats import tell_stats
from workers.cli.operator import ByOption, ReasonOption, signed
from workers.cli.output import tell
from workers.cli.tables import print_table
from workers.config.settings import read_settings
from workers.upkeep.letter_orders import LetterOrder

PAGE = 500
SEALED = "sealed"
COLUMNS = ("outbox id", "company", "code", "attempts", "moved", "expires", "state", "reason")
Look = Callable[[Store, datetime], Awaitable[None]]


def list_letters(
    code: CodeOption = None,
    company: CompanyOption = None,
    older_than: OlderOption = None,
    newer_than: NewerOption = None,
    limit: Annotated[int, typer.Option(min=1, max=AT_MOST, help="At most so many.")] = 100,
) -> None:
    """The dead letters, oldest first."""

    async def go(store: Store, now: datetime) -> None:
        wanted = wanted_letters(now, code, company, (older_than, newer_than))
        found = await store.look(lambda tx: tx.dead_letters.list(wanted, limit=limit + 1))
        if not found:
            tell(await none_fit(store))
            return
        print_table(COLUMNS, [_cells(letter) for letter in found[:limit]])
        if len(found) > limit:
            tell(f"The oldest {limit}; there are more: see --limit, --code, --company, --older-than.")

    _look(go)


def stats(
    code: CodeOption = None,
    company: CompanyOption = None,
    older_than: OlderOption = None,
    newer_than: NewerOption = None,
) -> None:
    """How many, how fast they come in, of which codes and companies: the runbook's questions."""

    async def go(store: Store, now: datetime) -> None:
        wanted = wanted_letters(now, code, company, (older_than, newer_than))
        async with store.reading() as tx:
            await tell_stats(tx, wanted, now)

    _look(go)


def export(
    code: CodeOption = None,
    company: CompanyOption = None,
    older_than: OlderOption = None,
    newer_than: NewerOption = None,
    with_data: Annotated[
        bool, typer.Option("--with-data", help="Decrypt originalData; asks why, and is kept on record.")
    ] = False,
    reason: ReasonOption = None,
    by: ByOption = None,
) -> None:
    """Print dead letters as JSON lines, under the document's names; originalData stays sealed."""
    settings = read_settings()
    given = signed(reason, by) if with_data else Attribution("", "")

    async def go(store: Store) -> None:
        now = await clock_here(settings, store).now()
        wanted = wanted_letters(now, code, company, (older_than, newer_than))
        if not with_data:
            await _print_letters(store, wanted, None)
            return
        cipher = await opened_cipher(settings, store)
        number = await store.look(lambda tx: tx.dead_letters.count(wanted))
        order = LetterOrder(given, now, wanted, number)
        async with ordered(store, order.named("export"), Subject(), given, now):
            closed = await _print_letters(store, wanted, cipher)
        if closed:
            refuse(unopened_line(closed))

    (with_trail if with_data else with_store)(go, settings)


async def _print_letters(store: Store, wanted: WantedLetters, cipher: Cipher | None) -> int:
    """All of them, page by page; how many could not be opened and were printed sealed."""
    place, closed = None, 0
    async with store.reading() as tx:
        while page := await tx.dead_letters.list(wanted, limit=PAGE, after=place):
            for letter in page:
                data = _data(letter, cipher)
                closed += cipher is not None and SEALED in data
                tell(json.dumps(letter.exported(data), ensure_ascii=False))
            place = LetterPlace(page[-1].moved_at, page[-1].outbox_id)
    return closed


def _data(letter: DeadLetter, cipher: Cipher | None) -> dict[str, object]:
    """The original data as it is kept, which a key opens; or opened, if its key is here."""
    if cipher is None or not cipher.opens(letter.original_data, context=mail_context(letter.outbox_id)):
        return {SEALED: letter.original_data}
    content = open_mail(cipher, letter.outbox_id, letter.original_data)
    data = dict(content.data)
    return {"to": content.recipient, "template": content.template, "language": content.language, "data": data}


def _cells(letter: DeadLetter) -> tuple[str, ...]:
    times = _time(letter.moved_at), _time(letter.expires_at)
    code, attempts = letter.last_failure_code or "-", str(letter.failed_attempts)
    head = letter.outbox_id, letter.company_id, code, attempts
    return *head, *times, state_of(letter), letter.last_failure_reason


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _look(go: Look) -> None:
    """Show what the database says; no engine is needed."""
    settings = read_settings()

    async def within(store: Store) -> None:
        await go(store, await clock_here(settings, store).now())

    with_store(within, settings)
