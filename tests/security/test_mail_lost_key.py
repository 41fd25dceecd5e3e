"""Mail and dead letters under a lost key: each says so and stays, and no other waits for them."""

import json
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from domain.mail.mail import MAIL_LIFE, MailState
from domain.mail.redrive import RedriveDone, RedriveTerms
from gateways.practice.mail_server import Mailbox
from persistence.encryption.keys import cipher_of, new_key
from persistence.store import Store
from tests.support.mail_stage import MailStage, mail_stage
from tests.support.mails import a_mail, keep_dead
from tests.support.terminal import Terminal, terminal
from workers.mail import sending
from workers.mail.automatic_redrive import AutomaticRedrive
from workers.mail.redrive import Redrive
from workers.runtime.outcome import Complete, Incident, Throw

__all__ = ["terminal"]
LOST = cipher_of(new_key("lost"))
WHY = ("--reason", "the mail server was mended")
NOBODY = "127.0.0.1:1"
on_sqlite = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)


async def at_rest(store: Store) -> int:
    return len(await store.look(lambda tx: tx.dead_letters.to_redrive()))


async def test_a_mail_under_a_lost_key_is_an_incident_in_words_of_mail_and_dies_after_its_day(
    store: Store,
) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        closed = a_mail(sealed=a_mail().sealed.replace("g1:test:", "g1:lost:"), published_at=stage.clock.at)
        await stage.add(closed, a_mail(2))
        outcome = await stage.send(closed.outbox_id)
        assert isinstance(outcome, Incident)
        assert ("'lost'" in outcome.message, "hand the same file" in outcome.message) == (True, False)
        assert await stage.send(a_mail(2).outbox_id) == Complete({"emailStatus": "SENT"})
        stage.clock.pass_by(MAIL_LIFE + timedelta(minutes=2))
        assert await stage.run("start-emails") == Complete({"processedCount": 1})
        letter = await store.look(lambda tx: tx.dead_letters.find(closed.outbox_id))
        assert letter is not None
        assert letter.original_data == closed.sealed, "a key that is found again opens it"
        assert isinstance(await stage.send(closed.outbox_id), Throw), "the process that stood still ends"


async def test_more_mails_that_stand_still_than_one_look_takes_do_not_keep_others_waiting(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "AT_ONCE", 5)
    async with mail_stage(store, Mailbox()) as stage:
        at = stage.clock.at
        closed = [a_mail(number, sealed="g1:lost:x", published_at=at) for number in range(6)]
        later = at + MAIL_LIFE + timedelta(minutes=1)
        await stage.add(*closed, a_mail(999, published_at=at, expires_at=later))
        stage.clock.pass_by(MAIL_LIFE + timedelta(minutes=5))
        for _ in range(2):
            await stage.run("start-emails")
        assert (await stage.found(a_mail(999).outbox_id)).state is MailState.FAILED


def redrive_of(stage: MailStage) -> Redrive:
    delivered = 0

    async def deliver(_seconds: float) -> None:
        nonlocal delivered
        for message in stage.engine.messages[delivered:]:
            await stage.send(str(message.variables["outboxId"]))
        delivered = len(stage.engine.messages)

    return Redrive(stage.store, stage.mail.queue, stage.clock, deliver, RedriveTerms(per_minute=6_000))


async def test_a_redrive_leaves_what_it_cannot_open_and_sends_the_others(store: Store) -> None:
    await keep_dead(store, range(4), cipher=LOST)
    await keep_dead(store, range(4, 10))
    async with mail_stage(store, Mailbox()) as stage:
        wanted = await store.look(lambda tx: tx.dead_letters.to_redrive())
        tally, end = await redrive_of(stage).run(wanted)
    assert (tally.sent, tally.passed_over, end) == (6, 4, RedriveDone())
    assert await at_rest(store) == 4


async def test_the_automatic_redrive_passes_them_over_and_says_so(store: Store) -> None:
    await keep_dead(store, range(20), cipher=LOST)
    await keep_dead(store, range(20, 23))
    async with mail_stage(store, Mailbox()) as stage:
        stage.clock.pass_by(timedelta(hours=1))
        automatic = AutomaticRedrive(store, stage.mail.queue, {"421": timedelta(minutes=5)}, RedriveTerms())
        with capture_logs() as logs:
            wave = await automatic.step(None, stage.clock.at)
        assert wave is not None
        assert wave.size == 3
        [told] = [line for line in logs if line["event"] == "dead_letters_unopened"]
        assert told["letters"] == 20
    assert await at_rest(store) == 20


@on_sqlite
async def test_every_command_says_what_it_cannot_open_and_loses_nothing(
    terminal: Terminal, store: Store
) -> None:
    [closed] = await keep_dead(store, [1], cipher=LOST)
    told = "1 dead letter cannot be opened with the keys that are here"
    code, _, err = await terminal.run("dlq", "redrive", *WHY, "--yes", ZEEBE_ADDRESS=NOBODY)
    assert (code, told in err) == (1, True)
    await keep_dead(store, [2])
    code, out, err = await terminal.run("dlq", "export", "--with-data", *WHY)
    exported = {one["outboxId"]: tuple(one["originalData"]) for one in map(json.loads, out.splitlines())}
    assert exported == {closed: ("sealed",), a_mail(2).outbox_id: ("to", "template", "language", "data")}
    assert (code, told in err) == (1, True)
    code, out, _ = await terminal.run("dlq", "show", closed)
    assert (code, "key lost, which does not open it here" in out) == (0, True)
    assert await at_rest(store) == 2
