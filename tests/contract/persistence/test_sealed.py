"""What is sealed is found by its key, and is sealed anew in small steps that others may interrupt."""

from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim_state import ClaimState
from persistence.encryption.cipher import Cipher, CipherError
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.claims import Arrival
from persistence.repositories.free_texts import TextSource, sealed_text
from persistence.repositories.guides import kept_guides, sought_guides
from persistence.repositories.idempotency import OperationKey, OperationTerms, StartedOperation
from persistence.repositories.payloads import seal_payload
from persistence.repositories.sealed import FILES, KeyUse, SealedValue
from persistence.store import Store
from tests.support.builders import NOW, later
from tests.support.tiss_samples import file_bytes, file_text
from workers.claims.guides import guides_of
from workers.upkeep.rotation import Rotation

OLD, NEW = new_key("old"), new_key("a-key-of-a-longer-name-than-most")
BEFORE, AFTER = cipher_of(OLD), cipher_of(f"{NEW},{OLD}")
ONLY_NEW = cipher_of(NEW)
KEY = OperationKey("1", "Task", "submit_claim", {})
BATCHES = 25


def claim(number: int) -> str:
    return f"CLM-1-{number:03}"


def batch(number: int) -> bytes:
    return file_bytes(file_text(f"2{number:011}", first=number * 1_000))


async def hand_in(store: Store, number: int, cipher: Cipher = BEFORE) -> None:
    arrival = Arrival(claim(number), "p", later(hours=48), f"{number:064}", str(number))
    async with store.transaction() as tx:
        await tx.claims.receive_all([(arrival, NOW)])
        await tx.payloads.put(claim(number), seal_payload(cipher, claim(number), batch(number)), now=NOW)
        await tx.guides.keep(arrival, kept_guides(cipher, guides_of(batch(number))))


async def keep_result(store: Store, cipher: Cipher = BEFORE) -> None:
    async with store.transaction() as tx:
        begun = await tx.idempotency.begin(KEY, OperationTerms(lease=timedelta(minutes=4)), now=NOW)
        assert isinstance(begun, StartedOperation)
        await tx.idempotency.mark_success(begun, cipher.encrypt("{}", context=KEY.text), now=NOW)


async def uses(store: Store) -> set[tuple[str, str, int]]:
    found = await store.look(lambda tx: tx.sealed.uses())
    return {(use.what, use.key_id, use.values) for use in found.values}


def quiet(_what: str, _done: int) -> None:
    """Nobody looks."""


async def test_every_value_is_found_by_the_id_of_its_key(store: Store) -> None:
    await hand_in(store, 1)
    await hand_in(store, 2, AFTER)
    await keep_result(store)
    found = await store.look(lambda tx: tx.sealed.uses())
    assert set(found.values) == {
        KeyUse("files", "old", 1),
        KeyUse("files", AFTER.current, 1),
        KeyUse("results", "old", 1),
    }
    assert sorted(claims for _, claims in found.guides) == [1, 1]


async def test_after_a_rotation_the_new_key_alone_opens_everything_and_finds_every_guide(
    store: Store,
) -> None:
    for number in range(1, BATCHES + 1):
        await hand_in(store, number)
    await keep_result(store)
    seen: list[tuple[str, int]] = []
    done = await Rotation(store, AFTER).run(lambda what, number: seen.append((what, number)))
    assert done == BATCHES + 1
    assert seen == [("files", 10), ("files", 20), ("files", 25), ("results", 1)]
    assert await uses(store) == {("files", ONLY_NEW.current, BATCHES), ("results", ONLY_NEW.current, 1)}
    async with store.reading() as tx:
        assert await tx.payloads.opened(claim(7), ONLY_NEW) == batch(7)
        record = await tx.idempotency.find_by_key(KEY.text)
        assert record
        assert ONLY_NEW.decrypt(record.result_data or "", context=KEY.text) == "{}"
        sought = sought_guides(ONLY_NEW, guides_of(batch(7)), "CLM-1-999", ["p"])
        assert [holder.claim_id for holder in await tx.guides.holders(sought)] == [claim(7)]
    assert await Rotation(store, AFTER).run(quiet) == 0


async def test_an_interrupted_rotation_leaves_every_value_readable_and_goes_on_where_it_stood(
    store: Store,
) -> None:
    for number in range(1, BATCHES + 1):
        await hand_in(store, number)

    def interrupt(_what: str, _done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await Rotation(store, AFTER).run(interrupt)
    assert await uses(store) == {("files", "old", BATCHES - 10), ("files", AFTER.current, 10)}
    async with store.reading() as tx:
        for number in range(1, BATCHES + 1):
            assert await tx.payloads.opened(claim(number), AFTER) == batch(number)
    assert await Rotation(store, AFTER).run(quiet) == BATCHES - 10


async def test_words_of_others_are_sealed_anew_too(store: Store) -> None:
    words = [sealed_text(BEFORE, claim(1), TextSource.PAYER, f"said {number}", now=NOW) for number in (1, 2)]
    await store.run(lambda tx: tx.free_texts.keep(words))
    assert await Rotation(store, AFTER).run(quiet) == 2
    assert await uses(store) == {("words", AFTER.current, 2)}
    kept = await store.look(lambda tx: tx.free_texts.of_claim(claim(1)))
    assert [text.opened(AFTER) for text in kept] == ["said 1", "said 2"]


async def test_what_no_key_here_opens_stays_as_it_is_and_holds_nothing_up(store: Store) -> None:
    for number in range(1, 13):
        await hand_in(store, number, cipher_of(new_key("lost")))
    await hand_in(store, 99)
    assert await Rotation(store, AFTER).run(quiet) == 1
    assert await uses(store) == {("files", "lost", 12), ("files", AFTER.current, 1)}


async def test_a_file_that_was_corrected_meanwhile_is_not_overwritten(store: Store) -> None:
    await hand_in(store, 1)
    before = await store.look(lambda tx: tx.payloads.find(claim(1)))
    corrected = seal_payload(BEFORE, claim(1), b"<corrected/>")
    await store.run(lambda tx: tx.payloads.put(claim(1), corrected, now=NOW))
    stale = SealedValue(claim(1), before or "", claim(1))
    assert not await store.run(lambda tx: tx.sealed.replace(FILES, stale, "late", "name"))
    assert await store.look(lambda tx: tx.payloads.opened(claim(1), BEFORE)) == b"<corrected/>"


async def test_a_file_that_an_earlier_version_kept_gets_the_name_of_its_key(
    store: Store, database: AsyncEngine
) -> None:
    await hand_in(store, 1, AFTER)
    async with database.begin() as connection:
        await connection.execute(text("UPDATE claim_payloads SET key_name = NULL"))
    [waiting] = await store.look(lambda tx: tx.sealed.waiting([]))
    assert (waiting.key_id, waiting.key_name, waiting.claims) == (AFTER.current, None, 1)
    assert await Rotation(store, AFTER).run(quiet) == 1
    assert len(await store.look(lambda tx: tx.sealed.names())) == 1


async def test_only_open_claims_wait_for_their_files(store: Store) -> None:
    await hand_in(store, 1)
    await hand_in(store, 2)
    await store.run(lambda tx: tx.claims.close(claim(1), ClaimState.CANCELLED, now=NOW))
    [waiting] = await store.look(lambda tx: tx.sealed.waiting(["another"]))
    assert (waiting.key_id, waiting.claims, waiting.example) == ("old", 1, claim(2))


async def test_without_a_key_nothing_is_sealed(store: Store) -> None:
    keyless = Cipher("", {}, lack="no key is here")
    with pytest.raises(CipherError, match="no key is here"):
        seal_payload(keyless, claim(1), b"x")
