"""Who removes the anchors does not get the trail signed anew: it begins once, and no day is left out."""

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.audit.anchors import AnchorNotOurs, NoAuditKey, NoBeginning
from persistence.audit.seals import UNSEALED
from persistence.store import Store
from tests.support.audit_attacker import Attacker
from tests.support.audit_trail import END, OTHER, attacker, hastened, night, problems, trail, whats
from tests.support.builders import CLAIM, NOW, REFUSAL, draft, later
from tests.support.databases import SEALS
from workers.upkeep.retention import set_due_anchors

__all__ = ["attacker", "trail"]
ALL_ANCHORS = "DELETE FROM audit_anchors"
DAILY_ANCHORS = "DELETE FROM audit_anchors WHERE day > '2001-01-01'"
STRIPPED = "UPDATE audit_events SET seal = NULL, seal_key = NULL"
LATER = later(days=8)


async def found_before_and_after_the_night(store: Store) -> None:
    assert await problems(store)
    await night(store)
    assert await problems(store)
    await night(store, LATER)
    assert await problems(store, LATER)


@pytest.mark.parametrize("anchors", [ALL_ANCHORS, DAILY_ANCHORS])
async def test_a_claim_removed_with_the_anchors_is_missed_also_after_the_night(
    trail: Store, attacker: Attacker, anchors: str
) -> None:
    await attacker.remove(OTHER)
    await attacker.sql(anchors)
    await found_before_and_after_the_night(trail)


@pytest.mark.parametrize("anchors", [ALL_ANCHORS, DAILY_ANCHORS])
@pytest.mark.parametrize("whose", ["", f" WHERE claim_id = '{CLAIM}'"])
async def test_a_rewritten_chain_without_seals_and_anchors_is_never_signed(
    trail: Store, attacker: Attacker, anchors: str, whose: str
) -> None:
    await attacker.rewrite(CLAIM, hastened)
    await attacker.sql(STRIPPED + whose, anchors)
    await found_before_and_after_the_night(trail)


async def test_a_trail_without_its_beginning_is_not_anchored(trail: Store, attacker: Attacker) -> None:
    await attacker.sql(ALL_ANCHORS)
    assert "it has no beginning" in whats(await problems(trail))
    with pytest.raises(NoBeginning, match="reenvio audit begin"):
        await set_due_anchors(trail, END)


async def test_days_without_an_anchor_are_named(trail: Store, attacker: Attacker) -> None:
    await attacker.sql(DAILY_ANCHORS)
    assert "the trail: days 2026-01-12..2026-01-13 have no anchor" in whats(await problems(trail))


async def test_a_day_that_is_over_has_time_until_the_daily_job_has_run(store: Store) -> None:
    await store.record(draft())
    assert await problems(store, later(days=1, hours=15)) == []
    [problem] = await problems(store, later(days=1, hours=16))
    assert problem.what.startswith("day 2026-01-12 has no anchor")


async def test_an_anchor_that_comes_days_too_late_proves_nothing(trail: Store, attacker: Attacker) -> None:
    await attacker.sql(DAILY_ANCHORS)
    await set_due_anchors(trail, LATER)
    assert "anchor of 2026-01-12: it was set on 2026-01-20 only" in whats(await problems(trail, LATER))


async def test_a_beginning_that_was_made_without_the_key_is_none(trail: Store, attacker: Attacker) -> None:
    await attacker.sql(ALL_ANCHORS, STRIPPED)
    await Store(attacker.database, UNSEALED).run(lambda tx: tx.anchors.begin(END))
    assert "it has no beginning" in whats(await problems(trail))


@pytest.mark.parametrize("forged", ["NULL", "'00'"])
async def test_nothing_is_signed_after_a_beginning_that_somebody_else_made(
    trail: Store, attacker: Attacker, forged: str
) -> None:
    await attacker.sql(ALL_ANCHORS, STRIPPED)
    await Store(attacker.database, UNSEALED).run(lambda tx: tx.anchors.begin(NOW))
    name = SEALS.current and SEALS.current.name
    await attacker.sql(f"UPDATE audit_anchors SET signature = {forged}, signed_with = '{name}'")  # noqa: S608
    await trail.record(draft("CLM-8-8", now=END))
    with pytest.raises(AnchorNotOurs):
        await set_due_anchors(trail, LATER)
    assert "it has no beginning" in whats(await problems(trail, LATER))


async def test_a_worker_without_a_key_sets_no_anchor(trail: Store, database: AsyncEngine) -> None:
    with pytest.raises(NoAuditKey):
        await set_due_anchors(Store(database, UNSEALED), END)


async def test_another_beginning_than_the_noted_one_is_found(store: Store) -> None:
    await store.record(draft())
    async with store.reading() as tx:
        begun = await tx.anchors.beginning()
        assert begun
        true = [one async for one in tx.verification.problems(NOW, beginning=begun.hash)]
        other = [one async for one in tx.verification.problems(NOW, beginning="0" * 64)]
    assert true == []
    assert "was noted outside" in whats(other)


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)  # PostgreSQL leaves numbers out by itself
async def test_numbers_that_are_missing_on_the_day_itself_are_found(trail: Store, attacker: Attacker) -> None:
    await trail.record(draft("CLM-9-3", error=REFUSAL, now=later(days=2)))
    await attacker.remove("CLM-9-2")
    assert "are missing: they were removed" in whats(await problems(trail))


@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
async def test_more_numbers_than_an_undone_transaction_spends_are_missed(store: Store) -> None:
    await store.record(draft())
    await Attacker(store._engine).sql("SELECT setval('audit_events_event_id_seq', 5000)")
    await store.record(draft(OTHER))
    assert "the events 7 to 5000 are missing" in whats(await problems(store, NOW))


@pytest.fixture
async def old(database: AsyncEngine, attacker: Attacker) -> Store:
    """The store with a trail of an earlier version: nothing sealed, nothing begun."""
    await attacker.sql(ALL_ANCHORS)
    before = Store(database, UNSEALED)
    await before.record(draft())
    await before.record(draft(OTHER, error=REFUSAL))
    return Store(database, SEALS)


async def test_events_of_an_earlier_version_are_closed_in_by_the_beginning(
    old: Store, attacker: Attacker
) -> None:
    assert "10 events bear no seal" in whats(await problems(old, NOW))
    assert await old.run(lambda tx: tx.anchors.begin_if_new(NOW, upgraded=True))
    async with old.reading() as tx:
        assert [problem async for problem in tx.verification.problems(NOW)] == []
        assert tx.verification.tally.closed_in == 10
    await attacker.rewrite(CLAIM, hastened)
    assert "are not those that were anchored" in whats(await problems(old, NOW))


async def test_the_days_go_on_after_the_beginning_of_an_upgraded_trail(old: Store) -> None:
    await old.run(lambda tx: tx.anchors.begin_if_new(NOW, upgraded=True))
    await old.record(draft("CLM-9-9"))
    await set_due_anchors(old, later(days=1))
    assert await problems(old, later(days=1)) == []


async def test_a_trail_that_holds_something_is_not_begun_by_a_mere_start(old: Store) -> None:
    assert await old.run(lambda tx: tx.anchors.begin_if_new(NOW, upgraded=False)) is None
    assert "it has no beginning" in whats(await problems(old, NOW))


async def test_a_trail_that_was_emptied_is_not_begun_again(trail: Store, attacker: Attacker) -> None:
    await attacker.sql("DELETE FROM audit_events", ALL_ANCHORS)
    assert await trail.run(lambda tx: tx.anchors.begin_if_new(END, upgraded=False)) is None


async def test_nothing_begins_without_a_key_or_twice(store: Store, database: AsyncEngine) -> None:
    assert await store.run(lambda tx: tx.anchors.begin_if_new(NOW, upgraded=True)) is None
    await Attacker(database).sql(ALL_ANCHORS)
    keyless = Store(database, UNSEALED)
    assert await keyless.run(lambda tx: tx.anchors.begin_if_new(NOW, upgraded=True)) is None


async def test_what_was_written_without_a_seal_after_the_beginning_is_told_of_for_good(
    trail: Store, database: AsyncEngine
) -> None:
    await Store(database, UNSEALED).record(draft("CLM-8-8", now=later(days=2)))
    await set_due_anchors(trail, END)
    assert "6 of its events bore no seal" in whats(await problems(trail))


async def test_a_person_may_order_that_the_trail_begins_anew(trail: Store, attacker: Attacker) -> None:
    await attacker.sql(ALL_ANCHORS)
    await trail.run(lambda tx: tx.anchors.begin(END))
    assert await problems(trail) == []
    await trail.record(draft("CLM-8-8", now=END))
    await set_due_anchors(trail, later(days=5))
    assert await problems(trail, later(days=5)) == []
