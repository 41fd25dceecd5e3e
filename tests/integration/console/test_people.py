"""People on record, by the command line: on both databases, sealed, and without a password anywhere."""

import asyncio
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from sqlalchemy import func, select

from domain.access import Role
from persistence.repositories.people import NewPerson
from persistence.repositories.people_sessions import NewSession
from persistence.store import Store
from persistence.tables import login_trials
from tests.support.builders import NOW, later
from tests.support.command_line import environment, run_reenvio
from tests.support.databases import KEYS
from workers.console.access.people import PeopleDesk

SECRET = "a password of some length"
ANA = NewPerson("ana", "Ana Souza", frozenset({Role.BILLING, Role.QUALITY}), password_hash="hash")


class Shell:
    """Runs `reenvio console person` commands, with something on standard input."""

    def __init__(self, url: str, home: Path) -> None:
        self._environment = dict(environment(home, DATABASE_URL=url, ENCRYPTION_KEYS=KEYS))

    async def run(self, *arguments: str, typed: str = "") -> tuple[int, str]:
        done = await run_reenvio(self._environment, "console", "person", *arguments, typed=typed)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def shell(url: str, tmp_path: Path) -> Shell:
    return Shell(url, tmp_path)


async def test_a_first_admin_comes_by_command_and_is_listed(shell: Shell, store: Store) -> None:
    given = ("add", "Ana.Souza", "--name", "Ana Souza", "--role", "admin", "--role", "viewer")
    assert await shell.run(*given, typed=f"{SECRET}\n") == (
        0,
        "ana.souza may come in now as admin, viewer.\n",
    )
    person = await store.look(lambda tx: tx.people.find("ana.souza"))
    assert person is not None
    assert person.password_hash is not None
    assert SECRET not in person.password_hash
    assert PasswordHasher().verify(person.password_hash, SECRET)
    code, listed = await shell.run("list")
    assert (code, "ana.souza  Ana Souza  admin, viewer" in listed, "argon2" in listed) == (0, True, False)


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("arguments", "typed", "told"),
    [
        (("add", "ana", "--name", "A", "--role", "viewer"), "short\n", "12 to 200 characters"),
        (("add", "ana", "--name", "A", "--role", "viewer"), "", "12 to 200 characters"),
        (("add", "a b", "--name", "A", "--role", "viewer"), SECRET, "A login has"),
        (("add", "ana", "--name", "A", "--role", "auditor", "--role", "admin"), SECRET, "no other role"),
        (("add", "ana", "--name", " ", "--role", "admin"), SECRET, "name"),
        (("disable", "nobody"), "", "Nobody has the login nobody"),
        (("enable", "nobody"), "", "Nobody has the login nobody"),
        (("roles", "nobody", "--role", "admin"), "", "Nobody has the login nobody"),
        (("roles", "ana", "--role", "auditor", "--role", "admin"), "", "no other role"),
        (("password", "nobody"), SECRET, "Nobody has the login nobody"),
    ],
)
async def test_what_cannot_be_is_refused_in_one_line(
    shell: Shell, arguments: tuple[str, ...], typed: str, told: str
) -> None:
    code, said = await shell.run(*arguments, typed=typed)
    assert code == 2
    assert told in said


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_a_password_is_never_an_argument(shell: Shell) -> None:
    code, _ = await shell.run("add", "ana", "--name", "A", "--role", "admin", "--password", SECRET)
    assert code == 2


async def test_a_person_is_disabled_and_given_another_password_by_command(shell: Shell, store: Store) -> None:
    await PeopleDesk(store, "a test").add(ANA, NOW)
    assert (await shell.run("password", "ana", typed=SECRET))[0] == 0
    assert (await shell.run("disable", "ana"))[0] == 0
    person = await store.look(lambda tx: tx.people.find("ana"))
    assert person is not None
    assert person.disabled_at is not None
    assert person.roles == {Role.BILLING, Role.QUALITY}


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_a_person_is_brought_back_and_given_other_roles_by_command(shell: Shell, store: Store) -> None:
    desk = PeopleDesk(store, "a test")
    await desk.add(ANA, NOW)
    await desk.disable("ana", NOW)
    assert await shell.run("enable", "ana") == (0, "ana may come in again.\n")
    assert (await shell.run("enable", "ana"))[0] == 2
    code, said = await shell.run("roles", "ana", "--role", "operations", "--role", "viewer")
    assert (code, "operations, viewer" in said) == (0, True)
    person = await store.look(lambda tx: tx.people.find("ana"))
    assert person is not None
    assert person.disabled_at is None
    assert person.roles == {Role.OPERATIONS, Role.VIEWER}
    assert person.password_hash == "hash"
    events = await store.look(lambda tx: tx.audit.of_claim("@orders"))
    assert ['"action":"person enable"' in one.data for one in events].count(True) == 1
    assert "ana: operations, viewer" in events[-1].data


async def test_other_roles_end_the_sessions_of_the_old_ones(store: Store) -> None:
    desk = PeopleDesk(store, "a test")
    await desk.add(ANA, NOW)
    person = await store.look(lambda tx: tx.people.find("ana"))
    assert person is not None
    new = NewSession("token", person.person_id, "csrf", later(hours=8))
    await store.run(lambda tx: tx.people_sessions.begin(new, now=NOW))
    await desk.set_roles("ana", frozenset({Role.VIEWER}), NOW)
    assert await store.look(lambda tx: tx.people_sessions.find("token", now=NOW)) is None


async def test_a_trial_that_fails_removes_those_whose_time_is_over(store: Store) -> None:
    async def count(scope: str, minutes: float) -> None:
        at, since = later(minutes=minutes), later(minutes=minutes - 15)
        await store.run(lambda tx: tx.login_trials.count([scope], now=at, since=since))

    for n in range(5):
        await count(f"s{n}", 0)
    await count("later", 16)
    async with store.reading() as tx:
        kept = await tx._connection.scalar(select(func.count()).select_from(login_trials))
    assert kept == 1


async def test_every_change_is_an_order_on_record_and_sealed(store: Store) -> None:
    desk = PeopleDesk(store, "root on host")
    await desk.add(ANA, NOW)
    await desk.set_password("ana", "other", later(minutes=1))
    await desk.disable("ana", later(minutes=2))
    events = await store.look(lambda tx: tx.audit.of_claim("@orders"))
    assert [event.event for event in events] == ["NOTED"] * 3
    assert '"action":"person add","by":"root on host"' in events[0].data
    assert "ana: billing, quality" in events[0].data
    assert all("hash" not in event.data and "other" not in event.data for event in events)


async def test_a_login_is_given_once_and_nothing_is_noted_of_a_second(store: Store) -> None:
    desk = PeopleDesk(store, "a test")
    await desk.add(ANA, NOW)
    with pytest.raises(Exception, match="ana is known already"):
        await desk.add(ANA, NOW)
    assert len(await store.look(lambda tx: tx.audit.of_claim("@orders"))) == 1


async def test_trials_are_counted_within_a_time(store: Store) -> None:
    async def count(minutes: float) -> int:
        at = later(minutes=minutes)
        counts = await store.run(
            lambda tx: tx.login_trials.count(["x"], now=at, since=later(minutes=minutes - 15))
        )
        return counts["x"]

    assert [await count(minutes) for minutes in (0, 1, 14, 16, 17)] == [1, 2, 3, 1, 2]
    await store.run(lambda tx: tx.login_trials.forgive(["x"], since=NOW))
    assert await count(18) == 1


async def test_racing_logins_are_counted_each(store: Store) -> None:
    async def count() -> int:
        return (await store.run(lambda tx: tx.login_trials.count(["x"], now=NOW, since=NOW)))["x"]

    assert sorted(await asyncio.gather(*(count() for _ in range(8)))) == list(range(1, 9))


async def test_a_link_is_spent_by_one_of_many_at_once(store: Store) -> None:
    await PeopleDesk(store, "a test").add(ANA, NOW)
    person = await store.look(lambda tx: tx.people.find("ana"))
    assert person is not None
    await store.run(
        lambda tx: tx.people_sessions.offer_link("h", person.person_id, ends_at=later(minutes=15))
    )
    spent = await asyncio.gather(
        *(store.run(lambda tx: tx.people_sessions.spend_link("h", now=NOW)) for _ in range(5))
    )
    assert sum(one is not None for one in spent) == 1
