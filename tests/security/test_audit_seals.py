"""Whoever has every right in the database, but not the key, cannot change the trail unnoticed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.audit.chain import AuditDraft, AuditEvent
from persistence.audit.checkpoints import Checkpoint
from persistence.audit.rejections import Rejection
from persistence.audit.seals import seals_of
from persistence.encryption.keys import cipher_of, new_key
from persistence.store import Store
from persistence.tables import audit_anchors, audit_events, claim_events, outbox, retry_decisions
from tests.support.audit_attacker import Attacker
from tests.support.audit_trail import END, OTHER, attacker, hastened, problems, trail, whats
from tests.support.builders import CLAIM, NOW, draft, later
from tests.support.databases import KEYS, SEALS
from workers.upkeep.retention import set_due_anchors

__all__ = ["attacker", "trail"]


async def checkpoint(store: Store) -> Checkpoint:
    return await store.run(lambda tx: tx.checkpoints.make(END))


def forged_rejection(claim_id: str, at: datetime) -> Sequence[AuditDraft]:
    return Rejection(7, 1, claim_id, "RN-BIL-004", "BIL-004-V1", "Variable claimId", at).trail()


def renamed(given: str, taken: str) -> Callable[[AuditEvent], AuditEvent]:
    return lambda event: replace(event, claim_id=taken, data=event.data.replace(given, taken))


async def test_a_rewritten_chain_whose_hashes_fit_again_is_found(trail: Store, attacker: Attacker) -> None:
    await attacker.rewrite(CLAIM, hastened)
    await attacker.anchor_anew()
    assert "its seal does not fit" in whats(await problems(trail))


async def test_a_removed_claim_is_found_though_its_days_were_anchored_anew(
    trail: Store, attacker: Attacker
) -> None:
    await attacker.remove(OTHER)
    await attacker.anchor_anew()
    assert "its signature does not fit" in whats(await problems(trail))


async def test_a_claim_that_was_put_into_the_past_is_found(trail: Store, attacker: Attacker) -> None:
    await attacker.forge(*forged_rejection("CLM-7-7", NOW))
    await attacker.anchor_anew()
    assert "CLM-7-7" in whats(await problems(trail))


async def test_two_claims_that_changed_their_names_are_found(trail: Store, attacker: Attacker) -> None:
    for given, taken in (("CLM-9-1", "CLM-9-X"), ("CLM-9-2", "CLM-9-1"), ("CLM-9-X", "CLM-9-2")):
        await attacker.rewrite(given, renamed(given, taken))
        for table in ("retry_decisions", "claim_events", "outbox"):
            await attacker.sql(f"UPDATE {table} SET claim_id = '{taken}' WHERE claim_id = '{given}'")  # noqa: S608
    await attacker.anchor_anew()
    assert "its seal does not fit" in whats(await problems(trail))


async def test_an_anchor_that_was_rewritten_alone_is_found(trail: Store, attacker: Attacker) -> None:
    await attacker.sql("UPDATE audit_anchors SET anchored_at = '2026-01-13 02:00:00+00:00'")
    await attacker.anchor_anew()
    assert "its signature does not fit" in whats(await problems(trail))


async def test_forged_rejections_are_found(trail: Store, attacker: Attacker) -> None:
    await attacker.forge(*forged_rejection(OTHER, later(days=2)))
    [problem] = await problems(trail)
    assert problem.where == OTHER
    assert "bear no seal" in problem.what


async def test_a_permit_that_stays_is_found(trail: Store, database: AsyncEngine) -> None:
    async with database.begin() as connection:
        await connection.exec_driver_sql("INSERT INTO audit_permits VALUES ('audit_events:DELETE')")
    [problem] = await problems(trail)
    assert problem.where == "audit_permits"


@pytest.mark.parametrize("table", ["audit_events", "audit_anchors", "policies"])
async def test_a_guard_that_was_taken_away_is_found(
    trail: Store, database: AsyncEngine, kind: str, table: str
) -> None:
    drop = f"DROP TRIGGER {table}_append_only ON {table}" if kind == "postgresql" else ""
    async with database.begin() as connection:
        await connection.exec_driver_sql(drop or f"DROP TRIGGER {table}_no_delete")
    [problem] = await problems(trail)
    assert problem.where == table


async def test_a_seal_that_belongs_to_another_event_is_found(trail: Store, attacker: Attacker) -> None:
    stolen = f"SELECT seal FROM audit_events WHERE claim_id = '{OTHER}' AND sequence = 1"  # noqa: S608
    await attacker.sql(f"UPDATE audit_events SET seal = ({stolen}) WHERE claim_id = '{CLAIM}'")  # noqa: S608
    assert "its seal does not fit" in whats(await problems(trail))


async def test_a_rewritten_event_whose_seal_was_taken_off_is_found(trail: Store, attacker: Attacker) -> None:
    newest = "CLM-9-2"
    await attacker.rewrite(newest, lambda event: replace(event, data=event.data.replace("unknown", "known")))
    await attacker.sql(f"UPDATE audit_events SET seal = NULL, seal_key = NULL WHERE claim_id = '{newest}'")  # noqa: S608
    assert f"{newest}: 4 of its events bear no seal" in whats(await problems(trail))
    await set_due_anchors(trail, END)
    assert "4 of its events bore no seal of ours when it was set" in whats(await problems(trail))


async def test_a_trail_without_any_seal_is_not_taken_for_an_old_one(trail: Store, attacker: Attacker) -> None:
    await attacker.rewrite(CLAIM, hastened)
    await attacker.anchor_anew()
    await attacker.sql(
        "UPDATE audit_events SET seal = NULL, seal_key = NULL",
        "UPDATE audit_anchors SET signature = NULL, signed_with = NULL",
    )
    assert "no signed anchor closes them in" in whats(await problems(trail))


async def test_the_seals_of_somebody_elses_key_prove_nothing(
    trail: Store, attacker: Attacker, database: AsyncEngine
) -> None:
    mine = Store(database, seals_of(cipher_of(new_key("test"))))  # the same id, another key
    await mine.record(draft("CLM-8-8", now=later(days=3)))
    await attacker.sql(f"UPDATE audit_events SET seal_key = '{SEALS.current and SEALS.current.name}'")  # noqa: S608
    assert "CLM-8-8 event 1: its seal does not fit" in whats(await problems(trail))


async def test_what_was_removed_on_the_day_itself_is_missed_by_the_anchor_kept_outside(
    trail: Store, attacker: Attacker
) -> None:
    kept = await checkpoint(trail)
    assert await problems(trail, kept=kept) == []
    await attacker.remove("CLM-9-2")
    assert await problems(trail) == []  # nothing inside can tell
    assert "were removed, added or rewritten" in whats(await problems(trail, kept=kept))


async def test_a_database_put_back_to_an_earlier_state_is_found_by_the_anchor_kept_outside(
    trail: Store, attacker: Attacker
) -> None:
    tables = (audit_events, audit_anchors, retry_decisions, claim_events, outbox)
    copies = [(table, await attacker.keep_a_copy(table)) for table in tables]
    await trail.record(draft("CLM-6-6", now=later(days=2)))
    await set_due_anchors(trail, END)
    kept = await checkpoint(trail)
    for table, rows in copies:
        await attacker.put_back(table, rows)
    assert await problems(trail) == []  # it is what it was, in every part
    await set_due_anchors(trail, END)
    assert "removed or rewritten" in whats(await problems(trail, kept=kept))


async def test_what_comes_after_it_is_nothing_to_the_anchor_kept_outside(trail: Store) -> None:
    kept = await checkpoint(trail)
    for day in range(3, 6):
        await trail.record(draft(f"CLM-5-{day}", now=later(days=day)))
        await set_due_anchors(trail, later(days=day))
    assert await problems(trail, later(days=5), kept) == []


async def test_an_anchor_kept_outside_that_was_changed_is_found(trail: Store) -> None:
    kept = await checkpoint(trail)
    changed = Checkpoint(kept.content | {"events": 0})
    assert "the file was changed" in whats(await problems(trail, kept=changed))


async def test_once_an_anchor_of_the_new_key_holds_them_the_old_key_may_go(
    trail: Store, database: AsyncEngine
) -> None:
    new = new_key("new")
    await set_due_anchors(Store(database, seals_of(cipher_of(f"{new},{KEYS}"))), END)
    without = Store(database, seals_of(cipher_of(new)))
    assert await problems(without) == []


async def test_late_words_and_wrong_clocks_do_not_spoil_an_anchor(trail: Store) -> None:
    await trail.record(draft("CLM-3-1", now=NOW))  # written down days after its time
    await trail.record(draft("CLM-3-2", now=later(days=1000)))  # by somebody ahead of time
    assert await problems(trail) == []
    await set_due_anchors(trail, END)
    assert await problems(trail) == []
