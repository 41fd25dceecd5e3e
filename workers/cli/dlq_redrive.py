"""`reenvio dlq redrive`: sends dead letters again."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from domain.mail.dead_letters import AT_MOST
from domain.mail.redrive import (
    FIRST_WAVE,
    PER_MINUTE,
    STOP_PERCENT,
    FailsAgain,
    NothingHappens,
    RedriveDone,
    RedriveEnd,
    RedriveTerms,
)
from persistence.repositories.dead_letters import WantedLetters
from persistence.store import Store, Transaction
from workers.app.composition import App
from workers.cli.application import with_app
from workers.cli.dlq_options import (
    STOPPED,
    CodeOption,
    CompanyOption,
    NewerOption,
    OlderOption,
    listed,
    none_fit,
    refuse,
    unopened_line,
    wanted_letters,
)
from workers.cli.operator import ByOption, ReasonOption, YesOption, asked, require_reason
from workers.cli.output import bar, counted, tell
from workers.mail.redrive import Redrive, RedriveTally, unopened
from workers.upkeep.letter_orders import LetterOrder, redrive_letters

RESUME = "What is on its way goes on by itself; run the same command again for the rest."
LettersArgument = Annotated[
    list[str] | None, typer.Argument(help="These alone; all that fit the options when left out.")
]


def redrive(
    letters: LettersArgument = None,
    code: CodeOption = None,
    company: CompanyOption = None,
    older_than: OlderOption = None,
    newer_than: NewerOption = None,
    per_minute: Annotated[
        int, typer.Option(min=1, max=60_000, help="At most so many a minute.")
    ] = PER_MINUTE,
    first: Annotated[int, typer.Option(min=1, max=AT_MOST, help="So many first; then twice.")] = FIRST_WAVE,
    stop_percent: Annotated[
        int, typer.Option(min=0, max=100, help="Stop when more than this share of a wave fails again.")
    ] = STOP_PERCENT,
    reason: ReasonOption = None,
    by: ByOption = None,
    yes: YesOption = False,
) -> None:
    """Send dead letters again, a few first, then more; stops by itself when they fail again."""
    require_reason(reason)
    terms = RedriveTerms(first, per_minute, stop_percent)

    async def go(app: App) -> None:
        now = await app.clock.now()
        wanted = wanted_letters(now, code, company, (older_than, newer_than))
        ids = await _openable(app, await _chosen(app.store, wanted, letters))
        if not ids:
            tell(await _nothing_to_redrive(app.store, wanted))
            return
        given = asked(await _preview(app.store, wanted, ids, terms), reason, by, yes=yes)
        tally, end = await _redriven(app, ids, terms, LetterOrder(given, now, wanted, len(ids)))
        tell(_told(tally, end))
        raise typer.Exit(0 if isinstance(end, RedriveDone) else STOPPED)

    with_app(go)


async def _chosen(store: Store, wanted: WantedLetters, named: Sequence[str] | None) -> list[str]:
    found = list(await store.look(lambda tx: tx.dead_letters.to_redrive(wanted)))
    if not named:
        return found
    if others := [name for name in named if name not in found]:
        why = await store.look(lambda tx: _why_not(tx, others))
        refuse(f"Cannot be sent again: {'; '.join(why)}. Nothing was done.")
    return [one for one in found if one in set(named)]


async def _why_not(tx: Transaction, ids: Sequence[str]) -> Sequence[str]:
    return [await _why_not_one(tx, one) for one in ids]


async def _why_not_one(tx: Transaction, outbox_id: str) -> str:
    """Why a letter that was named cannot go: it is none, goes already, or another option leaves it out."""
    letter = await tx.dead_letters.find(outbox_id)
    if letter is None:
        return f"{outbox_id} is no dead letter (see `reenvio dlq list`)"
    if letter.redriven_at is not None:
        return f"{outbox_id} is on its way since {letter.redriven_at.isoformat(timespec='seconds')}"
    return f"{outbox_id} does not fit the other options (leave them out)"


async def _openable(app: App, ids: Sequence[str]) -> Sequence[str]:
    """Those that a worker could read; the others are told of, and stay where they are."""
    closed = await unopened(app.store, app.mail.queue.cipher, ids)
    if closed:
        tell(unopened_line(len(closed)), err=True)
    if ids and len(closed) == len(ids):
        raise typer.Exit(STOPPED)
    return [one for one in ids if one not in closed]


async def _nothing_to_redrive(store: Store, wanted: WantedLetters) -> str:
    going = await store.look(lambda tx: tx.dead_letters.count(replace(wanted, on_its_way=True)))
    return f"Nothing to send again; {going} on their way." if going else await none_fit(store)


async def _preview(store: Store, wanted: WantedLetters, ids: Sequence[str], terms: RedriveTerms) -> str:
    """What would go, by code and company, and how."""
    async with store.reading() as tx:
        marks = await tx.dead_letters.marks(ids)
        going = await tx.dead_letters.count(replace(wanted, on_its_way=True))
    codes, companies = Counter(code for code, _ in marks), Counter(company for _, company in marks)
    lines = [f"{counted(len(ids), 'dead letter')} to be sent again, {terms.wave_size(1)} first."]
    lines.append(
        f"At most {terms.per_minute} a minute; ends when over {terms.stop_percent} % of a wave fail."
    )
    lines.append(f"By code: {listed(codes.most_common())}. By company: {listed(companies.most_common(10))}.")
    if going:
        lines.append(f"{going} more are on their way since an earlier redrive, and left alone.")
    return "\n".join(lines)


async def _redriven(
    app: App, ids: Sequence[str], terms: RedriveTerms, order: LetterOrder
) -> tuple[RedriveTally, RedriveEnd]:
    seen = RedriveTally(len(ids))
    with bar("Sending again", len(ids)) as advance:

        def watch(tally: RedriveTally) -> None:
            nonlocal seen
            seen = tally
            advance(tally.sent + tally.failed + tally.passed_over, _wave_line(tally))

        try:
            run = Redrive(app.store, app.mail.queue, app.clock, asyncio.sleep, terms, watch)
            return await redrive_letters(run, ids, order)
        except asyncio.CancelledError:
            tell(f"Cut off. {_sums(seen)} {RESUME}", err=True)
            raise


def _wave_line(tally: RedriveTally) -> str:
    return (
        f"wave {tally.wave.number} of {tally.wave.size}: {tally.wave.sent} sent, {tally.wave.failed} failed"
    )


def _sums(tally: RedriveTally) -> str:
    parts = {
        "sent": tally.sent,
        "failed again": tally.failed,
        "on their way": tally.wave.under_way,
        "not ours any more": tally.passed_over,
        "left": tally.left,
    }
    return ", ".join(f"{number} {what}" for what, number in parts.items() if number) + "."


def _told(tally: RedriveTally, end: RedriveEnd) -> str:
    match end:
        case RedriveDone():
            return f"Done: {_sums(tally)}"
        case FailsAgain(wave):
            why = f"{wave.failed} of {wave.size} in wave {wave.number} failed again"
            return f"Stopped, as {why}: {_sums(tally)} See `reenvio dlq stats`, mend the cause. {RESUME}"
        case NothingHappens():
            return f"Stopped, as nothing happens: {_sums(tally)} Is a worker running? {RESUME}"
