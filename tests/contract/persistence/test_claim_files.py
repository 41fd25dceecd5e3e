"""Claims with files: kept whole or not at all, encrypted, tied to their claim, gone after their time."""

from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim_state import ClaimState
from domain.retention import Periods
from persistence.encryption.cipher import CipherError
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.claims import Arrival, Wanted
from persistence.repositories.legal_holds import LegalHold
from persistence.repositories.payloads import open_payload, seal_payload
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, later
from workers.upkeep.retention import apply, preview

CIPHER = cipher_of(new_key("k1"))
FILE = "José".encode("iso-8859-1") * 1000 + bytes(range(256))
FILES = "files of claims"


def arrival(claim: str = CLAIM, payer: str = "p") -> Arrival:
    return Arrival(claim, payer, later(hours=48), "c" * 64, "123")


async def receive(store: Store, claim: str = CLAIM, *, minutes: float = 0, payer: str = "p") -> None:
    async with store.transaction() as tx:
        await tx.claims.receive_all([(arrival(claim, payer), later(minutes=minutes))])
        await tx.payloads.put(claim, seal_payload(CIPHER, claim, FILE), now=later(minutes=minutes))


async def test_a_received_claim_keeps_its_deadline_content_and_batch(store: Store) -> None:
    await receive(store)
    async with store.reading() as tx:
        claim = await tx.claims.find(CLAIM)
    assert claim is not None
    assert (claim.state, claim.deadline, claim.created_at) == (ClaimState.RECEIVED, later(hours=48), NOW)
    assert (claim.content_hash, claim.batch_number) == ("c" * 64, "123")


async def test_a_claim_is_received_once(store: Store) -> None:
    await receive(store)
    with pytest.raises(IntegrityError):
        await receive(store)


async def test_a_state_nobody_named_is_refused(store: Store, database: AsyncEngine) -> None:
    await receive(store)
    with pytest.raises(IntegrityError):
        async with database.begin() as connection:
            await connection.execute(text("UPDATE claims SET state = 'LOST'"))


async def test_a_file_comes_back_byte_for_byte_and_is_stored_unreadable(store: Store) -> None:
    await receive(store)
    async with store.reading() as tx:
        stored = await tx.payloads.find(CLAIM)
        assert await tx.payloads.find("CLM-9-9") is None
    assert stored is not None
    assert open_payload(CIPHER, CLAIM, stored) == FILE
    assert stored.startswith("g1:k1:")
    assert "Jos" not in stored


async def test_a_file_does_not_open_as_another_claims(store: Store) -> None:
    await receive(store)
    async with store.reading() as tx:
        stored = await tx.payloads.find(CLAIM)
    assert stored is not None
    with pytest.raises(CipherError):
        open_payload(CIPHER, "CLM-9-9", stored)


async def test_a_corrected_file_takes_the_place_of_the_first_only_in_review(store: Store) -> None:
    await receive(store)
    async with store.transaction() as tx:
        assert not await tx.claims.correct(CLAIM, content_hash="d" * 64, batch_number="124")
        await tx.claims.move(CLAIM, ClaimState.IN_REVIEW, now=NOW)
        assert await tx.claims.correct(CLAIM, content_hash="d" * 64, batch_number="124")
        await tx.payloads.put(CLAIM, seal_payload(CIPHER, CLAIM, b"new"), now=later(hours=1))
        claim, stored = await tx.claims.find(CLAIM), await tx.payloads.find(CLAIM)
    assert claim is not None
    assert stored is not None
    assert (claim.content_hash, claim.batch_number) == ("d" * 64, "124")
    assert open_payload(CIPHER, CLAIM, stored) == b"new"


async def test_the_newest_claims_come_first_within_what_is_wanted(store: Store) -> None:
    for n in range(4):
        await receive(store, f"CLM-1-{n}", minutes=n, payer=f"p{n % 2}")
    async with store.transaction() as tx:
        await tx.claims.move("CLM-1-0", ClaimState.ACCEPTED, now=later(days=1))
        everything = await tx.claims.newest(Wanted(), 3)
        accepted = await tx.claims.newest(Wanted(ClaimState.ACCEPTED), 9)
        even = await tx.claims.newest(Wanted(ClaimState.RECEIVED, "p0"), 9)
    assert [claim.claim_id for claim in everything] == ["CLM-1-3", "CLM-1-2", "CLM-1-1"]
    assert [claim.claim_id for claim in accepted] == ["CLM-1-0"]
    assert [claim.claim_id for claim in even] == ["CLM-1-2"]


async def test_received_claims_take_turns(store: Store) -> None:
    for n in range(3):
        await receive(store, f"CLM-1-{n}", minutes=n)
    async with store.transaction() as tx:
        first = await tx.claims.received(later(minutes=9), 2)
        await tx.claims.touch_received("CLM-1-0", now=later(minutes=9))
        second = await tx.claims.received(later(minutes=9), 2)
        assert await tx.claims.received(NOW, 2) == []
    assert [claim.claim_id for claim in first] == ["CLM-1-0", "CLM-1-1"]
    assert [claim.claim_id for claim in second] == ["CLM-1-1", "CLM-1-2"]


async def test_a_file_goes_when_its_claim_has_ended_and_its_time_is_over(store: Store) -> None:
    ended, open_, held = "CLM-1-1", "CLM-1-2", "CLM-1-3"
    for claim in (ended, open_, held):
        await receive(store, claim)
    async with store.transaction() as tx:
        for claim in (ended, held):
            await tx.claims.move(claim, ClaimState.ACCEPTED, now=NOW)
        await tx.holds.place(LegalHold(held, "case 7", NOW))
    early, late = later(days=89), later(days=91)
    assert (await preview(store, Periods(), early))[FILES] == 0
    assert (await preview(store, Periods(), late))[FILES] == 1
    assert (await apply(store, Periods(), late))[FILES] == 1
    async with store.reading() as tx:
        left = [claim for claim in (ended, open_, held) if await tx.payloads.find(claim)]
    assert left == [open_, held]


async def test_a_file_whose_claim_is_forgotten_goes_too(store: Store) -> None:
    await receive(store)
    async with store.transaction() as tx:
        await tx.claims.move(CLAIM, ClaimState.WRITTEN_OFF, now=NOW)
    longer = Periods(history=timedelta(days=1), payload=timedelta(days=10))
    await apply(store, longer, later(days=2))
    async with store.reading() as tx:
        assert await tx.claims.find(CLAIM) is None
    assert (await apply(store, longer, later(days=11)))[FILES] == 1
