"""`reenvio dlq list | show | stats | redrive | export | purge`: mail that died."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated

import typer

from domain.mail.dead_letters import AT_MOST, DeadLetter
from domain.operators import Attribution
from persistence.encryption.cipher import Cipher
from persistence.repositories.dead_letters import LetterPlace, WantedLetters
from persistence.repositories.mails import open_mail
from persistence.store import Store, Transaction
from workers.app.ciphers import opened_cipher
from workers.app.cluster import clock_here
from workers.cli.application import with_store, with_trail
from workers.cli.dlq_options import (
    NONE_HERE,
    CodeOption,
    CompanyOption,
    NewerOption,
    OlderOption,
    order_name,
    wanted_letters,
)
from workers.cli.dlq_orders import purge, redrive
from workers.cli.dlq_show import show, state_of
from workers.cli.operator import ByOption, ReasonOption, Subject, ordered, signed
from workers.cli.output import counted, tell
from workers.cli.tables import print_table
from workers.config.settings import read_settings

PAGE = 500
MANY, MANY_OF_ONE = 100, 50
"""03-retry-backoff-dlq's alerts: so many letters in all, so many of one company."""
COLUMNS = ("outbox id", "company", "code", "attempts", "moved", "expires", "state", "reason")
Look = Callable[[Store, datetime], Awaitable[None]]
dlq_app = typer.Typer(
    help="Dead letters: mail that died. See them, send them again, export or remove them.",
    no_args_is_help=True,
    add_completion=False,
)
dlq_app.command()(show)
dlq_app.command()(redrive)
dlq_app.command()(purge)


@dlq_app.command("list")
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
            tell(NONE_HERE)
            return
        print_table(COLUMNS, [_cells(letter) for letter in found[:limit]])
        if len(found) > limit:
            tell(f"The oldest {limit}; there are more: see --limit, --code, --company, --older-than.")

    _look(go)


@dlq_app.command()
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
            await _tell_totals(tx, wanted, now)
            codes, companies = await tx.dead_letters.by_code(wanted), await tx.dead_letters.by_company(wanted)
        _tell_counts("code", codes)
        _tell_counts("company", companies)
        crowded = [f"{name} has {number}" for name, number in companies if number > MANY_OF_ONE]
        if crowded:
            tell(f"More than {MANY_OF_ONE} of one company: {', '.join(crowded)}. Tell the company.")

    _look(go)


async def _tell_totals(tx: Transaction, wanted: WantedLetters, now: datetime) -> None:
    letters = tx.dead_letters
    number, oldest = await letters.count(wanted), await letters.oldest()
    on_its_way = await letters.count(replace(wanted, on_its_way=True))
    hour, day = [await letters.count(_since(wanted, now - timedelta(hours=hours))) for hours in (1, 24)]
    outside = len(await tx.mails.without_room(AT_MOST))
    tell(f"{counted(number, 'dead letter')} of at most {AT_MOST}, {on_its_way} of them on their way again.")
    tell(f"{hour} came in the last hour; {day / 24:.1f} an hour over the last day.")
    if oldest:
        tell(f"The oldest of all came at {_time(oldest)}.")
    if number > MANY:
        tell(f"More than {MANY}: look for a cause by code and company before you redrive.")
    if outside:
        tell(f"No room for {counted(outside, 'mail')}: they move in when there is; export, then purge.")


def _since(wanted: WantedLetters, moment: datetime) -> WantedLetters:
    given = wanted.moved_since
    return replace(wanted, moved_since=max(moment, given) if given else moment)


@dlq_app.command()
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
        async with ordered(store, order_name("export", wanted, number), Subject(), given, now):
            await _print_letters(store, wanted, cipher)

    (with_trail if with_data else with_store)(go, settings)


async def _print_letters(store: Store, wanted: WantedLetters, cipher: Cipher | None) -> None:
    place: LetterPlace | None = None
    async with store.reading() as tx:
        while page := await tx.dead_letters.list(wanted, limit=PAGE, after=place):
            for letter in page:
                tell(json.dumps(letter.exported(_data(letter, cipher)), ensure_ascii=False))
            place = LetterPlace(page[-1].moved_at, page[-1].outbox_id)


def _data(letter: DeadLetter, cipher: Cipher | None) -> dict[str, object]:
    """The original data as it is kept, which a key opens; or opened."""
    if cipher is None:
        return {"sealed": letter.original_data}
    content = open_mail(cipher, letter.outbox_id, letter.original_data)
    data = dict(content.data)
    return {"to": content.recipient, "template": content.template, "language": content.language, "data": data}


def _tell_counts(name: str, counts: Sequence[tuple[str | None, int]]) -> None:
    if counts:
        print_table((name, "letters"), [(found or "-", str(number)) for found, number in counts])


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
