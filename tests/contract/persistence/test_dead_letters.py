"""Dead letters: each has its reason, there are never too many, and they are found by what people ask."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.mail.dead_letters import AT_MOST, DeadLetter, InvalidDeadLetter
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.dead_letters import LetterPlace, WantedLetters
from persistence.repositories.mails import open_mail
from persistence.store import Store
from tests.support.builders import NOW, later
from tests.support.databases import KEYS
from tests.support.mails import CIPHER, CONTENT, a_dead_letter, a_mail, fill_dead_letters
from workers.upkeep.rotation import Rotation


async def keep(store: Store, *numbers: int, **changes: object) -> None:
    async with store.transaction() as tx:
        for number in numbers:
            assert await tx.dead_letters.add(a_dead_letter(number, **changes))


async def test_a_letter_is_found_as_it_was_kept(store: Store) -> None:
    letter = a_dead_letter(ttl=timedelta(days=3), redriven_at=later(hours=1))
    async with store.transaction() as tx:
        assert await tx.dead_letters.add(letter)
        assert await tx.dead_letters.find(letter.outbox_id) == letter
        assert await tx.dead_letters.find("nobody's") is None


@pytest.mark.parametrize("reason", ["", "  ", "\n\t"])
def test_code_refuses_a_letter_without_last_failure_reason(reason: str) -> None:
    with pytest.raises(InvalidDeadLetter, match="lastFailureReason"):
        a_dead_letter(last_failure_reason=reason)


@pytest.mark.parametrize(
    "change",
    ["last_failure_reason = ''", "last_failure_reason = '  '", "last_failure_reason = NULL"]
    + [f"failed_attempts = {number}" for number in (0, -1)],
)
async def test_the_database_refuses_one_too(store: Store, database: AsyncEngine, change: str) -> None:
    await keep(store, 1)
    with pytest.raises(IntegrityError):
        async with database.begin() as connection:
            await connection.execute(text(f"UPDATE dead_letters SET {change}"))  # noqa: S608


async def test_what_a_letter_was_to_say_is_sealed_and_a_new_key_seals_it_anew(
    store: Store, database: AsyncEngine
) -> None:
    await keep(store, 1)
    await store.run(lambda tx: tx.mails.add(a_mail(1, said=a_mail(1).sealed)))
    after = cipher_of(f"{new_key('next')},{KEYS}")
    assert await Rotation(store, after).run(lambda _what, _done: None) == 3
    letter = await store.look(lambda tx: tx.dead_letters.find(a_mail(1).outbox_id))
    assert letter is not None
    assert letter.original_data.startswith("g1:next:")
    assert open_mail(after, letter.outbox_id, letter.original_data) == CONTENT
    assert "claimId" not in letter.original_data


async def test_a_mail_that_dies_again_has_one_letter_with_its_latest_failure(store: Store) -> None:
    await keep(store, 1)
    await store.run(lambda tx: tx.dead_letters.redriven([a_mail(1).outbox_id], now=later(hours=1)))
    await keep(store, 1, last_failure_code="550", moved_at=later(hours=2))
    [letter] = await store.look(lambda tx: tx.dead_letters.list())
    assert (letter.last_failure_code, letter.redriven_at) == ("550", None)


async def test_beyond_the_limit_nothing_is_taken_and_nothing_is_lost(store: Store) -> None:
    await keep(store, 1, 2)
    async with store.transaction() as tx:
        assert not await tx.dead_letters.add(a_dead_letter(3), at_most=2)
        assert await tx.dead_letters.add(a_dead_letter(2, failed_attempts=7), at_most=2)
        assert await tx.dead_letters.count() == 2


async def test_of_many_that_come_at_once_none_gets_in_beyond_the_limit(store: Store) -> None:
    async def come(number: int) -> bool:
        return await store.run(lambda tx: tx.dead_letters.add(a_dead_letter(number), at_most=3))

    taken = await asyncio.gather(*(come(number) for number in range(12)))
    assert taken.count(True) == 3
    assert await store.look(lambda tx: tx.dead_letters.count()) == 3


async def test_the_limit_is_the_documents(store: Store, database: AsyncEngine) -> None:
    assert AT_MOST == 10_000
    await fill_dead_letters(database)
    assert not await store.run(lambda tx: tx.dead_letters.add(a_dead_letter()))


async def test_letters_are_listed_by_code_company_and_age_page_by_page(store: Store) -> None:
    for number in range(6):
        company, code = f"company-{number % 2}", "421" if number < 4 else "550"
        at = later(minutes=number // 2)
        await keep(store, number, company_id=company, last_failure_code=code, moved_at=at)
    async with store.reading() as tx:
        letters = tx.dead_letters
        assert len(await letters.list(WantedLetters(code="550"))) == 2
        assert len(await letters.list(WantedLetters("421", "company-1"))) == 2
        assert len(await letters.list(WantedLetters(moved_before=later(minutes=1)))) == 2
        assert await letters.count(WantedLetters(moved_since=later(minutes=1))) == 4
        everything = list(await letters.list())
        pages: list[DeadLetter] = []
        after = None
        while page := await letters.list(limit=4, after=after):
            pages += page
            after = LetterPlace(page[-1].moved_at, page[-1].outbox_id)
        assert pages == everything
        assert len(everything) == 6


async def test_the_runbooks_two_questions_are_answered(store: Store) -> None:
    for number, code in enumerate(["421", "550", "421", None]):
        await keep(store, number, last_failure_code=code, company_id=f"company-{min(number, 2)}")
    async with store.reading() as tx:
        assert (await tx.dead_letters.by_code())[0] == ("421", 2)
        assert sorted(await tx.dead_letters.by_code(), key=str) == [("421", 2), ("550", 1), (None, 1)]
        assert await tx.dead_letters.by_company(limit=1) == [("company-2", 2)]


async def test_letters_are_due_after_their_time_to_live_and_not_before(store: Store) -> None:
    await keep(store, 1)
    await keep(store, 2, moved_at=later(days=1))
    async with store.transaction() as tx:
        assert await tx.dead_letters.expired(later(days=7, seconds=-1), 10) == []
        [due] = await tx.dead_letters.expired(later(days=7), 10)
        assert await tx.dead_letters.oldest() == NOW
        assert await tx.dead_letters.remove([due.outbox_id, "nobody's"]) == 1
        assert await tx.dead_letters.oldest() == later(days=1)
        assert await tx.dead_letters.count() == 1


async def test_letters_on_their_way_are_told_from_those_at_rest(store: Store) -> None:
    await keep(store, 1, 2, 3)
    going = a_mail(2).outbox_id
    everybody = [a_mail(number).outbox_id for number in (1, 2, 3)]
    async with store.transaction() as tx:
        await tx.dead_letters.redriven([going], now=later(hours=1))
        [only] = await tx.dead_letters.list(WantedLetters(on_its_way=True))
        assert only.outbox_id == going
        assert await tx.dead_letters.count(WantedLetters(on_its_way=False)) == 2
        assert set(await tx.dead_letters.to_redrive()) == set(everybody) - {going}
        assert len(await tx.dead_letters.expired(later(days=8), 10)) == 2
        assert await tx.dead_letters.remove(everybody, on_its_way=False) == 2
        assert await tx.dead_letters.remove(everybody) == 1


async def test_who_failed_last_is_brought_back_last(store: Store) -> None:
    for number, hours in ((1, 3), (2, 1), (3, 2)):
        await keep(store, number, last_failure_at=later(hours=hours))
    async with store.reading() as tx:
        order = [a_mail(number).outbox_id for number in (2, 3, 1)]
        assert await tx.dead_letters.to_redrive() == order
        assert await tx.dead_letters.to_redrive(failed_before=later(hours=2)) == order[:2]
        assert await tx.dead_letters.failed_again(later(hours=2)) == 2


def test_a_letter_is_exported_under_the_eleven_names_of_the_document() -> None:
    content = open_mail(CIPHER, a_mail().outbox_id, a_mail().sealed)
    exported = a_dead_letter(enqueued_at=NOW).exported({"template": content.template})
    assert exported == {
        "jobId": a_mail().outbox_id,
        "outboxId": a_mail().outbox_id,
        "companyId": "company-1",
        "originalData": {"template": "max-retries-exceeded"},
        "failedAttempts": 5,
        "lastFailureReason": "SMTP 421: service not available",
        "lastFailureCode": "421",
        "lastFailureTimestamp": "2026-01-12T10:40:00.000Z",
        "enqueuedAt": "2026-01-12T10:40:00.000Z",
        "movedToDLQAt": "2026-01-12T10:40:00.000Z",
        "ttl": 604_800_000,
    }
    assert len(exported) == 11
