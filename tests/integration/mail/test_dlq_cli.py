"""`reenvio dlq`: dead letters are found, counted, exported by the document's names, removed on record."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.mail.mail import MAIL_LIFE, MailState
from persistence.repositories.mails import mail_context
from persistence.store import Store
from tests.support.mails import CIPHER, a_dead_letter, a_mail, keep_dead
from tests.support.terminal import Terminal, terminal
from workers.mail.facts import died_fact

__all__ = ["terminal"]
WHY = ("--reason", "the mail server was mended")
NOBODY = "127.0.0.1:1"
FIELDS = [
    "jobId", "outboxId", "companyId", "originalData", "failedAttempts", "lastFailureReason",
    "lastFailureCode", "lastFailureTimestamp", "enqueuedAt", "movedToDLQAt", "ttl",
]  # fmt: skip
DEAD = {
    "state": MailState.FAILED, "attempts": 5, "last_failure_reason": "SMTP 421: not now",
    "last_failure_code": "421",
}  # fmt: skip
on_sqlite = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)


def ago(**amount: float) -> datetime:
    return datetime.now(UTC) - timedelta(**amount)


async def keep_some(store: Store) -> None:
    """Three of 421, of which one is old; two of 550 of another company."""
    await keep_dead(store, [1, 2], moved_at=ago(minutes=10))
    await keep_dead(store, [3], moved_at=ago(days=2))
    await keep_dead(store, [4, 5], moved_at=ago(hours=5), last_failure_code="550", company_id="company-2")


async def orders(database: AsyncEngine) -> list[tuple[str, str]]:
    async with database.connect() as connection:
        rows = await connection.execute(text("SELECT action, reason FROM operator_orders ORDER BY order_id"))
        return [(row[0], row[1]) for row in rows]


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ((), [3, 4, 5, 1, 2]),
        (("--code", "550"), [4, 5]),
        (("--company", "company-1"), [3, 1, 2]),
        (("--older-than", "1"), [3]),
        (("--older-than", "4h", "--newer-than", "1", "--code", "550"), [4, 5]),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
async def test_letters_are_listed_by_code_company_and_age(
    terminal: Terminal, store: Store, options: tuple[str, ...], numbers: list[int]
) -> None:
    await keep_some(store)
    code, out, _ = await terminal.run("dlq", "list", *options)
    shown = {line.split()[0] for line in out.splitlines()[1:]}
    assert (code, shown) == (0, {a_mail(number).outbox_id for number in numbers})


@on_sqlite
@pytest.mark.parametrize("age", ["8", "8d", "soon", "-1", "99999999999999999999d"])
async def test_an_age_that_no_letter_can_have_is_refused(terminal: Terminal, age: str) -> None:
    code, _, err = await terminal.run("dlq", "purge", "--older-than", age, *WHY, "--yes")
    assert code == 2
    assert "--older-than" in err


async def test_stats_answer_the_runbooks_questions(terminal: Terminal, store: Store) -> None:
    await keep_some(store)
    _, out, _ = await terminal.run("dlq", "stats")
    assert "email:send:dlq: 5 dead letters of at most 10000, 0 of them on their way again." in out
    assert "2 came in the last hour; 0.2 an hour over the last day." in out
    counts = [line.split() for line in out.splitlines()[-6:]]
    assert counts == [
        ["code", "letters"], ["421", "3"], ["550", "2"],
        ["company", "letters"], ["company-1", "3"], ["company-2", "2"],
    ]  # fmt: skip
    _, of_one, _ = await terminal.run("dlq", "stats", "--code", "550")
    assert "2 dead letters of" in of_one
    assert "421" not in of_one


async def test_stats_say_what_waits_as_the_runbook_asks_and_what_became_of_a_days_mail(
    terminal: Terminal, store: Store
) -> None:
    oldest = ago(minutes=4)
    delayed = [a_mail(number, attempts=1) for number in (2, 3)]
    under_way = a_mail(4, attempts=1, sending_until=ago(minutes=-1))
    sent = [a_mail(10 + n, state=MailState.SENT, sent_at=ago(hours=n)) for n in range(30)]
    failed = a_mail(50, state=MailState.FAILED, last_failure_at=ago(hours=2), last_failure_reason="x")
    async with store.transaction() as tx:
        for mail in [a_mail(1), *delayed, under_way]:
            await tx.mails.add(replace(mail, enqueued_at=ago(days=2), expires_at=oldest + MAIL_LIFE))
        for mail in [*sent, failed]:
            await tx.mails.add(mail)
    _, out, _ = await terminal.run("dlq", "stats")
    since = f"{oldest:%Y-%m-%dT%H:%M:%S}+00:00"
    assert f"email:send: 1 wait, 1 active, 2 delayed, the oldest since {since}." in out
    assert "In the last day: 24 SENT, 1 FAILED (4.0 % of them)." in out
    assert "More than 2 % of what is sent fails (4.0 %): look for a pattern by code." in out
    assert "minutes" not in out


@on_sqlite
async def test_stats_say_when_the_documents_alerts_are_due(terminal: Terminal, store: Store) -> None:
    await keep_dead(store, range(50))
    await keep_dead(store, range(50, 100), company_id="company-2")
    _, out, _ = await terminal.run("dlq", "stats")
    assert "More than" not in out
    await keep_dead(store, [100])
    _, out, _ = await terminal.run("dlq", "stats")
    assert "More than 100: look for a cause" in out
    assert "More than 50 of one company: company-1 has 51." in out
    await store.run(lambda tx: tx.mails.add(a_mail(200, enqueued_at=ago(minutes=6))))
    _, out, _ = await terminal.run("dlq", "stats")
    assert "Mail waits for more than 5 minutes" in out


@on_sqlite
async def test_stats_of_some_hide_no_alert_and_name_every_company_with_too_many(
    terminal: Terminal, store: Store
) -> None:
    for company in range(12):
        await keep_dead(store, range(company * 51, company * 51 + 51), company_id=f"company-{company}")
    _, out, _ = await terminal.run("dlq", "stats", "--code", "550")
    [crowded] = [line for line in out.splitlines() if line.startswith("More than 50 of one company")]
    assert [company for company in range(12) if f"company-{company} has 51" not in crowded] == []
    assert "More than 100: look for a cause" in out


async def test_stats_count_mail_that_found_no_room_all_of_it_and_as_come_in_of_late(
    terminal: Terminal, store: Store
) -> None:
    died = {"state": MailState.FAILED, "last_failure_reason": "x", "last_failure_code": "421"}
    async with store.transaction() as tx:
        for number, since in enumerate((ago(minutes=10), ago(minutes=20), ago(hours=5))):
            await tx.mails.add(a_mail(number, **died, last_failure_at=since))
    _, out, _ = await terminal.run("dlq", "stats")
    assert "No room for 3 mails" in out
    assert "2 came in the last hour; 0.1 an hour over the last day." in out
    _, of_one, _ = await terminal.run("dlq", "stats", "--code", "550")
    assert "0 came in the last hour" in of_one


async def test_stats_count_letters_that_came_and_left_again_and_each_but_once(
    terminal: Terminal, store: Store
) -> None:
    here, back, sent, purged, old = (a_mail(n, company_id=f"company-{n % 2}", **DEAD) for n in range(1, 6))
    await keep_dead(store, [1], moved_at=ago(minutes=30), company_id="company-1")
    await keep_dead(store, [2], moved_at=ago(days=3), company_id="company-0")
    async with store.transaction() as tx:
        for mail in (here, sent, purged):
            await tx.outbox.add([died_fact(mail, ago(minutes=30))])
        await tx.outbox.add([died_fact(replace(back, round=1), ago(minutes=20))])
        await tx.outbox.add([died_fact(old, ago(hours=3))])
    _, out, _ = await terminal.run("dlq", "stats")
    assert "3 came in the last hour; 0.2 an hour over the last day." in out
    _, of_one, _ = await terminal.run("dlq", "stats", "--company", "company-0")
    assert "1 came in the last hour; 0.0 an hour over the last day." in of_one
    _, of_none, _ = await terminal.run("dlq", "stats", "--code", "550")
    assert "0 came in the last hour" in of_none


async def test_a_fact_that_cannot_be_read_does_not_stop_stats(
    terminal: Terminal, store: Store, database: AsyncEngine
) -> None:
    await store.run(lambda tx: tx.outbox.add([died_fact(a_mail(1, **DEAD), ago(minutes=5))]))
    async with database.begin() as connection:
        await connection.execute(text("UPDATE outbox SET payload = 'spoilt'"))
    code, out, _ = await terminal.run("dlq", "stats")
    assert (code, "0 came in the last hour" in out) == (0, True)


async def test_a_mail_whose_worker_died_is_not_active_beyond_its_lease(
    terminal: Terminal, store: Store
) -> None:
    lost = a_mail(1, attempts=1, enqueued_at=ago(minutes=3), sending_until=ago(minutes=1))
    await store.run(lambda tx: tx.mails.add(lost))
    _, out, _ = await terminal.run("dlq", "stats")
    assert "email:send: 0 wait, 0 active, 1 delayed" in out


@on_sqlite
async def test_show_tells_all_but_what_the_mail_was_to_say(terminal: Terminal, store: Store) -> None:
    [dead] = await keep_dead(store, [1], moved_at=ago(hours=1))
    code, out, _ = await terminal.run("dlq", "show", dead)
    assert code == 0
    assert all(name in out for name in FIELDS if name != "originalData")
    assert "SMTP 421: service not available" in out
    assert "number-1@" not in out
    code, _, err = await terminal.run("dlq", "show", "nobody's")
    assert (code, "There is no dead letter nobody's" in err) == (1, True)


@on_sqlite
async def test_show_says_what_helps_and_by_which_setting(terminal: Terminal, store: Store) -> None:
    [dead] = await keep_dead(store, [1], last_failure_code="535")
    _, out, _ = await terminal.run("dlq", "show", dead)
    assert "MAIL_SMTP_PASSWORD" in out
    assert f"`reenvio dlq redrive {dead}`" in out


async def test_what_the_server_said_is_shown_to_those_who_say_why_and_that_is_on_record(
    terminal: Terminal, store: Store, database: AsyncEngine
) -> None:
    [dead] = await keep_dead(store, [1])
    said = CIPHER.encrypt("421 Maria da Silva\x1b[2J is on leave", context=mail_context(dead))
    await store.run(lambda tx: tx.mails.save(a_mail(1, state=MailState.FAILED, attempts=5, said=said)))
    assert "Maria" not in (await terminal.run("dlq", "show", dead))[1]
    code, _, err = await terminal.run("dlq", "show", dead, "--with-data")
    assert (code, "--reason" in err) == (2, True)
    code, out, _ = await terminal.run("dlq", "show", dead, "--with-data", *WHY)
    assert code == 0
    assert "421 Maria da Silva" in out
    assert "\x1b" not in out
    assert "number-1@hospital.example" in out
    assert await orders(database) == [(f"dlq show {dead}", WHY[1])]


async def test_an_export_has_the_eleven_fields_and_keeps_the_data_sealed(
    terminal: Terminal, store: Store, database: AsyncEngine
) -> None:
    await keep_some(store)
    code, out, _ = await terminal.run("dlq", "export", "--code", "421")
    exported = [json.loads(line) for line in out.splitlines()]
    assert (code, len(exported)) == (0, 3)
    assert {tuple(one) for one in exported} == {tuple(FIELDS)}
    assert {tuple(one["originalData"]) for one in exported} == {("sealed",)}
    assert "hospital.example" not in out
    assert await orders(database) == []


async def test_an_export_with_data_is_on_record_with_who_and_why(
    terminal: Terminal, store: Store, database: AsyncEngine
) -> None:
    await keep_dead(store, [1])
    code, _, err = await terminal.run("dlq", "export", "--with-data")
    assert (code, "--reason" in err) == (2, True)
    code, out, _ = await terminal.run("dlq", "export", "--with-data", *WHY)
    assert json.loads(out)["originalData"] == {
        "to": "number-1@hospital.example",
        "template": "max-retries-exceeded",
        "language": "pt",
        "data": {"claimId": "CLM-001-1"},
    }
    assert await orders(database) == [("dlq export of 1", WHY[1])]


@pytest.mark.parametrize("command", [("redrive",), ("purge", "--older-than", "0")], ids=" ".join)
async def test_nothing_is_done_where_nobody_can_be_asked_and_nobody_said_yes(
    terminal: Terminal, store: Store, database: AsyncEngine, command: tuple[str, ...]
) -> None:
    await keep_some(store)
    code, out, err = await terminal.run("dlq", *command, *WHY, ZEEBE_ADDRESS=NOBODY, COLUMNS="200")
    assert (code, out) == (2, "")
    assert "5 dead letters to be" in err
    assert "421 3, 550 2" in err
    assert "--yes" in err
    assert await orders(database) == []
    assert await store.look(lambda tx: tx.dead_letters.count()) == 5


async def test_a_purge_removes_what_is_old_enough_and_not_on_its_way(
    terminal: Terminal, store: Store, database: AsyncEngine
) -> None:
    await keep_some(store)
    await store.run(lambda tx: tx.dead_letters.redriven([a_mail(4).outbox_id], now=ago(minutes=1)))
    code, out, err = await terminal.run("dlq", "purge", "--older-than", "4h", *WHY, "--yes")
    assert (code, out) == (0, "2 dead letters removed.\n")
    assert "By code: 421 1, 550 1. By company: " in err
    assert err.count("This cannot be undone.") == 1
    left = await store.look(lambda tx: tx.dead_letters.list())
    assert {one.outbox_id for one in left} == {a_mail(number).outbox_id for number in (1, 2, 4)}
    assert await orders(database) == [("dlq purge of 2", WHY[1])]
    purged = await store.look(lambda tx: tx.mails.find(a_mail(3).outbox_id))
    assert purged is not None
    assert purged.state is MailState.FAILED


@on_sqlite
async def test_a_redrive_names_the_letters_that_cannot_be_sent_again_and_why(
    terminal: Terminal, store: Store
) -> None:
    ready, goes = await keep_dead(store, [1, 3])
    [other] = await keep_dead(store, [4], last_failure_code="550")
    await store.run(lambda tx: tx.dead_letters.redriven([goes], now=ago(minutes=1)))
    given = ("dlq", "redrive", ready, a_mail(2).outbox_id, goes, other, "--code", "421", *WHY, "--yes")
    code, _, err = await terminal.run(*given, ZEEBE_ADDRESS=NOBODY)
    assert (code, ready in err) == (1, False)
    assert f"{a_mail(2).outbox_id} is no dead letter (see `reenvio dlq list`)" in err
    assert f"{goes} is on its way since " in err
    assert f"{other} does not fit the other options (leave them out)" in err
    assert "Nothing was done." in err


@on_sqlite
async def test_without_letters_every_command_says_so(terminal: Terminal) -> None:
    for command in (("list",), ("redrive", *WHY, "--yes"), ("purge", "--older-than", "0", *WHY, "--yes")):
        code, out, _ = await terminal.run("dlq", *command, ZEEBE_ADDRESS=NOBODY)
        assert (code, out) == (0, "No dead letters.\n")


@on_sqlite
async def test_options_that_no_letter_fits_do_not_hide_the_others(terminal: Terminal, store: Store) -> None:
    await keep_some(store)
    for command in (("list",), ("redrive", *WHY, "--yes"), ("purge", "--older-than", "0", *WHY, "--yes")):
        code, out, _ = await terminal.run("dlq", *command, "--code", "999", ZEEBE_ADDRESS=NOBODY)
        assert (code, out.startswith("None of 5 dead letters fits: `reenvio dlq stats`")) == (0, True), out


@on_sqlite
async def test_a_filter_about_a_person_is_on_record_without_it(
    terminal: Terminal, store: Store, database: AsyncEngine
) -> None:
    async with store.transaction() as tx:
        await tx.dead_letters.add(a_dead_letter(1, company_id="ana@company.example"))
    await terminal.run("dlq", "purge", "--older-than", "0", "--company", "ana@company.example", *WHY, "--yes")
    [(action, _)] = await orders(database)
    assert "ana@" not in action
