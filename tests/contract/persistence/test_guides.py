"""Guides of claims: found again by payer, unreadable, true to file and state, gone with their claim."""

from dataclasses import replace
from itertools import product

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.batches import leaves_batch_free
from domain.claim_state import ClaimState
from domain.retention import YEAR, Periods
from domain.submission import Accepted, AnswerLost, Failed
from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.attempts import AttemptResult
from persistence.repositories.claims import Arrival
from persistence.repositories.guides import Holder, kept_guides, sought_guides
from persistence.store import Store
from tests.support.builders import NOW, later
from workers.upkeep.retention import apply

OLD_KEY, NEW_KEY = new_key("old"), new_key("new")
CIPHER = cipher_of(OLD_KEY)
OURS, OTHER = "CLM-1-1", "CLM-1-2"
FILE = "c" * 64


async def receive(store: Store, claim: str, *guides: str, payer: str = "p", cipher: Cipher = CIPHER) -> None:
    arrival = Arrival(claim, payer, later(hours=48), FILE, "123")
    async with store.transaction() as tx:
        await tx.claims.receive_all([(arrival, NOW)])
        await tx.guides.keep(arrival, kept_guides(cipher, guides))


async def sent(store: Store, claim: str, outcome: str | None) -> None:
    async with store.transaction() as tx:
        attempt = await tx.attempts.start(claim, 1, now=NOW)
        if outcome:
            await tx.attempts.finish(claim, attempt, AttemptResult(outcome), now=NOW)


async def seen(
    store: Store, *guides: str, payers: tuple[str, ...] = ("p",), cipher: Cipher = CIPHER
) -> tuple[list[str], bool]:
    """Who else holds one of our guides, and whether that is all; there are the payers p and q."""
    sought = replace(sought_guides(cipher, guides, OURS, payers), configured=frozenset("pq"))
    async with store.reading() as tx:
        holders = [holder.claim_id for holder in await tx.guides.holders(sought)]
        return holders, await tx.guides.all_known(sought)


async def test_who_else_holds_one_of_the_guides_is_found(store: Store) -> None:
    await receive(store, OURS, "GP-1", "GP-2")
    await receive(store, OTHER, "GP-2", "GP-3")
    assert await seen(store, "GP-1", "GP-2") == ([OTHER], True)
    assert await seen(store, "GP-1") == ([], True)
    sought = sought_guides(CIPHER, ["GP-3"], OURS, ["p"])
    async with store.reading() as tx:
        assert await tx.guides.holders(sought) == [Holder(OTHER, "RECEIVED")]


async def test_a_guide_at_another_payer_is_another_guide(store: Store) -> None:
    await receive(store, OTHER, "GP-1", payer="q")
    assert await seen(store, "GP-1") == ([], True)
    assert await seen(store, "GP-1", payers=("p", "q")) == ([OTHER], True)


async def test_no_guide_can_be_read(store: Store, database: AsyncEngine) -> None:
    await receive(store, OURS, "GP-1")
    async with database.connect() as connection:
        [row] = (await connection.execute(text("SELECT * FROM claim_guides"))).mappings()
    assert row["key_id"].startswith("old")
    assert len(row["guide_hash"]) == 32
    assert "GP-1" not in str(dict(row))
    other = kept_guides(cipher_of(new_key("old")), ["GP-1"])
    assert row["guide_hash"] not in other.hashes


@pytest.mark.parametrize("state", ClaimState)
async def test_a_claim_holds_its_guides_unless_it_was_given_up_and_cannot_have_arrived(
    store: Store, database: AsyncEngine, state: ClaimState
) -> None:
    outcomes = (None, AnswerLost.stored_as, Accepted.stored_as, Failed.stored_as)
    for n, (outcome, is_sent) in enumerate(product(outcomes, (True, False))):
        await receive(store, f"CLM-2-{n}", "GP-1")
        if is_sent:
            await sent(store, f"CLM-2-{n}", outcome)
    async with database.begin() as connection:
        await connection.execute(text(f"UPDATE claims SET state = '{state}'"))  # noqa: S608
    async with store.reading() as tx:
        arrived = {f"CLM-2-{n}": await tx.attempts.may_have_arrived(f"CLM-2-{n}") for n in range(8)}
    expected = [claim for claim, may in arrived.items() if not leaves_batch_free(state, may_have_arrived=may)]
    assert set(arrived.values()) == {True, False}
    assert (await seen(store, "GP-1"))[0] == expected


async def test_a_claim_of_an_earlier_version_may_hold_any_guide(store: Store) -> None:
    async with store.transaction() as tx:
        await tx.claims.receive_all([(Arrival(OTHER, "p", later(hours=48), FILE, "123"), NOW)])
    assert await seen(store, "GP-1") == ([], False)
    async with store.transaction() as tx:
        await tx.claims.close(OTHER, ClaimState.WRITTEN_OFF, now=NOW)
    assert await seen(store, "GP-1") == ([], True)
    await sent(store, OTHER, None)
    assert await seen(store, "GP-1") == ([], False)


async def test_a_claim_that_an_earlier_version_corrected_may_hold_any_guide(store: Store) -> None:
    await receive(store, OTHER, "GP-1")
    async with store.transaction() as tx:
        await tx.claims.move(OTHER, ClaimState.IN_REVIEW, now=NOW)
        assert await tx.claims.correct(OTHER, content_hash="d" * 64, batch_number="123")
    assert await seen(store, "GP-9") == ([], False)
    async with store.transaction() as tx:
        await tx.guides.keep(
            Arrival(OTHER, "p", later(hours=48), "d" * 64, "123"), kept_guides(CIPHER, ["GP-2"])
        )
    assert await seen(store, "GP-1") == ([], True)
    assert await seen(store, "GP-2") == ([OTHER], True)


async def test_a_claim_without_a_file_has_no_guides_to_keep(store: Store) -> None:
    async with store.transaction() as tx:
        await tx.claims.put(OTHER, "p", ClaimState.SUBMITTING, now=NOW)
    assert await seen(store, "GP-1") == ([], True)


async def test_after_a_change_of_keys_older_guides_are_found_while_their_key_is_there(store: Store) -> None:
    await receive(store, OTHER, "GP-1")
    both, newer = cipher_of(f"{NEW_KEY},{OLD_KEY}"), cipher_of(NEW_KEY)
    await receive(store, "CLM-1-3", "GP-1", cipher=both)
    assert await seen(store, "GP-1", cipher=both) == ([OTHER, "CLM-1-3"], True)
    assert await seen(store, "GP-1", cipher=newer) == (["CLM-1-3"], False)
    assert await seen(store, "GP-9", cipher=newer) == ([], False)


@pytest.mark.parametrize("key_id", ["local", "k" * 32])
async def test_guides_under_a_key_that_was_replaced_under_its_name_are_not_known(
    store: Store, key_id: str
) -> None:
    replaced, present = cipher_of(new_key(key_id)), cipher_of(new_key(key_id))
    await receive(store, OTHER, "GP-1", cipher=replaced)
    assert await seen(store, "GP-1", cipher=replaced) == ([OTHER], True)
    assert await seen(store, "GP-1", cipher=present) == ([], False)


async def test_claims_under_a_name_that_no_payer_has_any_more_may_be_any_payers(store: Store) -> None:
    await receive(store, OTHER, "GP-1", payer="earlier-name")
    assert await seen(store, "GP-1") == ([], False)
    async with store.transaction() as tx:
        await tx.claims.close(OTHER, ClaimState.WRITTEN_OFF, now=NOW)
    assert await seen(store, "GP-1") == ([], True)


async def test_a_claim_without_a_file_hides_no_guides_whatever_its_payers_name(store: Store) -> None:
    for payer in ("a", "pp", "z"):
        async with store.transaction() as tx:
            await tx.claims.put(f"CLM-3-{payer}", payer, ClaimState.SUBMITTING, now=NOW)
    assert await seen(store, "GP-1") == ([], True)


async def test_guides_go_with_their_claim(store: Store, database: AsyncEngine) -> None:
    for claim in (OURS, OTHER):
        await receive(store, claim, "GP-1", "GP-2")
    await store.run(lambda tx: tx.claims.move(OTHER, ClaimState.ACCEPTED, now=NOW))
    assert (await apply(store, Periods(), NOW + 6 * YEAR))["claims"] == 1
    async with database.connect() as connection:
        left = await connection.execute(text("SELECT DISTINCT claim_id FROM claim_guides"))
        assert left.scalars().all() == [OURS]
