"""Policies that people adopt: one after the other, on record, sealed, and followed by every process."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from sqlalchemy import text, update
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs

from domain.errors import InvalidPolicy
from domain.operators import Attribution
from persistence.repositories.adopted_policies import OWN_POLICY, AdoptionKind, hash_of
from persistence.store import Store
from persistence.tables import adopted_policies
from tests.support.audit_trail import problems
from tests.support.builders import NOW, draft, later
from tests.support.intake_stage import HandClock
from tests.support.waiting import eventually
from workers.policy import PolicySource, parse_policy
from workers.policy.file import default_text
from workers.policy.following import PolicyFollower, UnreadableAdoption, following
from workers.policy.writing import changed
from workers.upkeep.policy_desk import AdoptionRefused, PolicyDesk

ANA, RUI = Attribution("ana", "fewer sends at night"), Attribution("rui", "as it was")

on_sqlite = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)


def desk_on(store: Store) -> PolicyDesk:
    return PolicyDesk(store, PolicySource(), HandClock(NOW))


def version(name: str, **limits: object) -> str:
    return changed(
        default_text(), {"version": name} | {f"limits.{key}": value for key, value in limits.items()}
    )


async def adopt(desk: PolicyDesk, document: str, by: Attribution = ANA) -> int:
    return await desk.adopt(document, by, seen=(await desk.in_force()).mark)


async def undo(desk: PolicyDesk, by: Attribution = RUI) -> int:
    return await desk.undo(by, seen=(await desk.in_force()).mark)


async def test_without_an_adoption_the_settings_policy_is_in_force(store: Store) -> None:
    desk = desk_on(store)
    found = await desk.in_force()
    assert (found.policy.version, found.origin, found.adoption) == ("1", "packaged", None)
    assert await desk.before() is None
    with pytest.raises(AdoptionRefused, match="taken back"):
        await undo(desk)


async def test_what_is_adopted_is_in_force_with_who_and_why_and_sealed(store: Store) -> None:
    desk = desk_on(store)
    number = await adopt(desk, version("2", max_retries=4))
    found = await desk.in_force()
    assert (found.policy.version, found.policy.limits.max_retries, found.origin) == ("2", 4, "adopted")
    assert found.text == version("2", max_retries=4)
    [kept] = await desk.history()
    assert (kept.adoption_id, kept.kind, kept.ordered_by, kept.reason) == (
        number,
        "ADOPTED",
        "ana",
        ANA.reason,
    )
    async with store.reading() as tx:
        [order] = await tx.orders.newest(5)
    assert (order.action, order.ordered_by) == (f"policy adopt {found.policy.label}", "ana")
    assert await problems(store, later(days=1)) == []


async def test_undo_goes_back_one_by_one_to_the_settings_policy(store: Store) -> None:
    desk = desk_on(store)
    await adopt(desk, version("2"))
    await adopt(desk, version("3"))
    versions = []
    for _ in range(2):
        await undo(desk)
        versions.append((await desk.in_force()).policy.version)
    assert versions == ["2", "1"]
    assert (await desk.in_force()).origin == "packaged"
    with pytest.raises(AdoptionRefused):
        await undo(desk)
    again = await adopt(desk, version("3"))
    assert (await desk.version(again)) is not None
    kinds = [one.kind for one in await desk.history()]
    assert kinds == [AdoptionKind.ADOPTED, *[AdoptionKind.UNDONE] * 2, *[AdoptionKind.ADOPTED] * 2]
    assert await problems(store, later(days=1)) == []


REFUSED = {
    "same": default_text(),
    "version": changed(default_text(), {"limits.max_retries": 4}),
    "zone": changed(default_text(), {"version": "2", "zone": "America/Manaus"}),
    "too_large": "#" * 1_000_001,
}


@on_sqlite
@pytest.mark.parametrize("kind_of", REFUSED)
async def test_what_must_not_come_into_force_is_refused(store: Store, kind_of: str) -> None:
    desk = desk_on(store)
    with pytest.raises(AdoptionRefused) as refused:
        await adopt(desk, REFUSED[kind_of])
    assert refused.value.kind == kind_of
    assert await desk.history() == []


INVALID = {
    "not a TOML file": "version = ",
    "BIL-004-V3 asks for": version("2", base_minutes=4, min_minutes=4),
    "BIL-004-V4 asks for": version("2", jitter_percent=10),
    "no profile": default_text().replace('version = "1"', 'version = "2"').replace("RN-BIL-005]", "OTHER]")
    .replace("RN-BIL-005.rules]", "OTHER.rules]"),
}  # fmt: skip


@on_sqlite
@pytest.mark.parametrize("problem", INVALID)
async def test_a_file_with_errors_or_that_leaves_a_critical_rule_unnamed_is_refused(
    store: Store, problem: str
) -> None:
    with pytest.raises(InvalidPolicy, match=problem):
        await adopt(desk_on(store), INVALID[problem])


async def test_a_critical_rule_is_left_by_name(store: Store) -> None:
    document = changed(version("2", jitter_percent=10), {"leaves": ["BIL-004-V4"]})
    await adopt(desk_on(store), document)
    assert (await desk_on(store).in_force()).policy.left_rules == ("BIL-004-V4",)


async def test_a_version_that_stood_for_another_content_is_not_given_twice(store: Store) -> None:
    desk = desk_on(store)
    await adopt(desk, version("2", max_retries=4))
    await undo(desk)
    with pytest.raises(AdoptionRefused, match="stands for another policy"):
        await adopt(desk, version("2", max_retries=3))


async def test_what_changed_since_it_was_seen_is_refused_and_the_order_says_so(store: Store) -> None:
    desk = desk_on(store)
    seen = (await desk.in_force()).mark
    await adopt(desk, version("2"))
    with pytest.raises(AdoptionRefused, match="than the one you saw"):
        await desk.adopt(version("3"), RUI, seen=seen)
    with pytest.raises(AdoptionRefused, match="than the one you saw"):
        await desk.undo(RUI, seen=seen)
    async with store.reading() as tx:
        orders = await tx.orders.newest(5)
    assert [order.refused_at is not None for order in orders] == [False, True, True]
    assert await problems(store, later(days=1)) == []


async def test_of_two_who_adopt_at_once_one_comes_first_and_the_other_is_told(store: Store) -> None:
    desk = desk_on(store)
    seen = (await desk.in_force()).mark
    tries = (desk.adopt(version(name), ANA, seen=seen) for name in ("2", "3", "4", "5"))
    results = await asyncio.gather(*tries, return_exceptions=True)
    refused = [one for one in results if isinstance(one, AdoptionRefused)]
    assert len(refused) == 3, results
    assert len(await desk.history()) == 1
    assert await problems(store, later(days=1)) == []


def follows(source: PolicySource, name: str) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return source.current().version == name

    return look


async def test_a_process_follows_what_is_adopted_and_what_is_undone(store: Store) -> None:
    desk, source = desk_on(store), PolicySource()
    with capture_logs() as lines:
        follower = PolicyFollower(store, source)
        await follower.begin()
        async with following(follower, look_seconds=0.01):
            await adopt(desk, version("2"))
            await eventually(follows(source, "2"))
            await undo(desk)
            await eventually(follows(source, "1"))
    told = [
        (line["version"].split("+")[0], line["origin"])
        for line in lines
        if line["event"] == "policy_in_force"
    ]
    assert told == [("1", "packaged"), ("2", "adopted"), ("1", "packaged")]


async def test_decisions_carry_the_adopted_version(store: Store) -> None:
    desk, source = desk_on(store), PolicySource()
    await adopt(desk, version("2"))
    await PolicyFollower(store, source).look()
    await store.record(draft(policy=source.current()))
    async with store.reading() as tx:
        [decided] = await tx.decisions.of_claims(["CLM-001-1"])
        assert await tx.policies.find(source.current().label, "RN-BIL-004") is not None
    assert decided.policy_version == source.current().label == (await desk.in_force()).policy.label


BREAKS = {
    "document = document || ' '": "is not the one that was adopted",
    "policy = '2+00000000'": "it reads as",
    "document_hash = NULL": "is not the one that was adopted",
}


async def damage(database: AsyncEngine, change: str) -> None:
    async with database.begin() as connection:
        await connection.execute(text("INSERT INTO audit_permits VALUES ('adopted_policies:UPDATE')"))
        await connection.execute(text(f"UPDATE adopted_policies SET {change}"))  # noqa: S608
        await connection.execute(text("DELETE FROM audit_permits"))


@on_sqlite
@pytest.mark.parametrize("change", BREAKS)
async def test_a_damaged_adoption_changes_nothing_in_a_process_that_runs_and_none_begins_with_it(
    store: Store, database: AsyncEngine, change: str
) -> None:
    desk, source = desk_on(store), PolicySource()
    follower = PolicyFollower(store, source)
    await follower.begin()
    await adopt(desk, version("2"))
    await damage(database, change)
    with capture_logs() as lines:
        await follower.look()
        await follower.look()
    assert source.current().version == "1"
    [told] = lines
    assert (told["event"], told["stays"]) == ("policy_not_followed", source.own.label)
    assert BREAKS[change] in told["why"]
    with pytest.raises(UnreadableAdoption, match="policy undo"):
        await PolicyFollower(store, PolicySource()).begin()
    found = await desk.in_force()
    assert found.trouble is not None
    assert [problem.where for problem in await problems(store, later(days=1))] != []
    await undo(desk)  # the way out
    await follower.look()
    assert (await desk.in_force()).trouble is None


async def test_a_database_that_is_away_leaves_the_policy_in_force_and_is_told_once(
    store: Store, database: AsyncEngine
) -> None:
    source = PolicySource()
    follower = PolicyFollower(store, source)
    await follower.begin()
    async with database.begin() as connection:
        await connection.execute(text("ALTER TABLE adopted_policies RENAME TO elsewhere"))
    with capture_logs() as lines:
        await follower.look()
        await follower.look()
    assert [line["event"] for line in lines] == ["policy_not_followed"]
    assert source.current().version == "1"


async def test_the_database_refuses_to_change_or_remove_an_adoption(
    store: Store, database: AsyncEngine
) -> None:
    await adopt(desk_on(store), version("2"))
    for statement in (update(adopted_policies).values(reason="x"), adopted_policies.delete()):
        with pytest.raises(Exception, match="append-only"):
            async with database.begin() as connection:
                await connection.execute(statement)


FORGERIES = {
    "ordered_by = 'eva'": "it was changed",
    "replaces = 7": "it says that it replaces 7",
}


@on_sqlite
@pytest.mark.parametrize("change", FORGERIES)
async def test_audit_verify_finds_an_adoption_that_was_changed(
    store: Store, database: AsyncEngine, change: str
) -> None:
    await adopt(desk_on(store), version("2"))
    await damage(database, change)
    found = await problems(store, later(days=1))
    assert {problem.where for problem in found} == {"adopted policy 1"}
    assert FORGERIES[change] in " ".join(problem.what for problem in found)


async def test_audit_verify_finds_a_document_that_was_replaced_with_its_hash(
    store: Store, database: AsyncEngine
) -> None:
    """Everything in the row fits, and only the seal tells."""
    desk = desk_on(store)
    await adopt(desk, version("2"))
    other = version("2", max_retries=3)
    async with database.begin() as connection:
        await connection.execute(text("INSERT INTO audit_permits VALUES ('adopted_policies:UPDATE')"))
        forged = {"document": other, "document_hash": hash_of(other), "policy": parse_policy(other).label}
        await connection.execute(update(adopted_policies).values(forged))
        await connection.execute(text("DELETE FROM audit_permits"))
    [problem] = await problems(store, later(days=1))
    assert problem.what.startswith("it was changed")


async def test_audit_verify_finds_an_adoption_that_was_removed_or_put_in(
    store: Store, database: AsyncEngine
) -> None:
    await adopt(desk_on(store), version("2"))
    async with database.begin() as connection:
        await connection.execute(text("INSERT INTO audit_permits VALUES ('adopted_policies:DELETE')"))
        await connection.execute(adopted_policies.delete())
        await connection.execute(text("DELETE FROM audit_permits"))
    [problem] = await problems(store, later(days=1))
    assert "it was removed" in problem.what
    row = {"adoption_id": 9, "at": later(hours=1), "kind": "UNDONE", "replaces": OWN_POLICY}
    async with database.begin() as connection:
        await connection.execute(adopted_policies.insert().values(row | {"ordered_by": "x", "reason": "x"}))
    found = [one.what for one in await problems(store, later(days=1))]
    assert any(what.startswith("no event tells of it") for what in found)
