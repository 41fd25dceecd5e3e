"""`reenvio dlq stats`: the runbook's questions, and which of the documents' alerts are due."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from domain.mail.alerts import MANY_OF_ONE, MailBalance, MailFigures, due_alerts
from domain.mail.dead_letters import AT_MOST
from domain.mail.names import DEAD_LETTER_QUEUE, QUEUE
from persistence.repositories.dead_letters import WantedLetters
from persistence.repositories.mails import PendingMails
from persistence.store import Transaction
from workers.cli.output import counted, tell
from workers.cli.tables import print_table

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
Counts = Sequence[tuple[str | None, int]]


async def tell_stats(tx: Transaction, wanted: WantedLetters, now: datetime) -> None:
    """Totals, alerts, codes, companies."""
    pending, balance = await tx.mails.pending(now), await tx.mails.ended_since(now - DAY)
    await _tell_letters(tx, wanted, now)
    _tell_queue(pending, balance)
    for alert in due_alerts(await _figures(tx, pending, balance, now)):
        tell(alert)
    _tell_counts("code", await tx.dead_letters.by_code(wanted))
    _tell_counts("company", await tx.dead_letters.by_company(wanted))


async def _figures(
    tx: Transaction, pending: PendingMails, balance: MailBalance, now: datetime
) -> MailFigures:
    """What alerts look at: all letters and every company, whatever was asked for."""
    number, crowded = await tx.dead_letters.count(), await tx.dead_letters.crowded(MANY_OF_ONE)
    waited = now - pending.oldest if pending.oldest else None
    return MailFigures(number, balance, {company or "-": some for company, some in crowded}, waited)


async def _tell_letters(tx: Transaction, wanted: WantedLetters, now: datetime) -> None:
    letters, mails = tx.dead_letters, tx.mails
    number, on_its_way = await letters.count(wanted), await letters.count(replace(wanted, on_its_way=True))
    entries = (await tx.letter_entries.since(wanted, now - DAY)).values()
    hour = sum(at >= now - HOUR for at in entries)
    outside, oldest = await mails.count_without_room(), await letters.oldest()
    room = f"{counted(number, 'dead letter')} of at most {AT_MOST}"
    tell(f"{DEAD_LETTER_QUEUE}: {room}, {on_its_way} of them on their way again.")
    tell(f"{hour} came in the last hour; {len(entries) / 24:.1f} an hour over the last day.")
    if oldest:
        tell(f"The oldest of all came at {_time(oldest)}.")
    if outside:
        tell(f"No room for {counted(outside, 'mail')}: they move in when there is; export, then purge.")


def _tell_queue(pending: PendingMails, balance: MailBalance) -> None:
    """The runbook's `wait`, `active` and `delayed`, and what became of the mail of the last day."""
    since = f", the oldest since {_time(pending.oldest)}" if pending.oldest else ""
    waiting = f"{pending.wait} wait, {pending.active} active, {pending.delayed} delayed"
    tell(f"{QUEUE}: {waiting}{since}.")
    ended = f"{balance.sent} SENT, {balance.failed} FAILED"
    tell(f"In the last day: {ended} ({balance.failed_percent:.1f} % of them).")


def _tell_counts(name: str, counts: Counts) -> None:
    if counts:
        print_table((name, "letters"), [(found or "-", str(number)) for found, number in counts])


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
