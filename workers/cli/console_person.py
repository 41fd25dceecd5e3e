"""`reenvio console person add | list | roles | disable | enable | password`: who may come in."""

import sys
from typing import Annotated

import typer
from argon2 import PasswordHasher

from domain.access import Role, read_login, require_password, require_roles
from persistence.repositories.people import NewPerson, Person
from persistence.store import Store
from workers.cli.database import with_store, with_trail
from workers.cli.lazy import Entry, lazy_app
from workers.cli.operator import shell_user
from workers.cli.output import tell
from workers.cli.tables import print_table
from workers.console.access.passwords import Passwords
from workers.console.access.people import PeopleDesk, read_name
from workers.console.words import DEFAULT, LANGUAGES

COLUMNS = ("login", "name", "roles", "language", "password set", "disabled")
TABLE = {
    "add": Entry("workers.cli.console_person:add", "Let somebody into the console, with these roles."),
    "list": Entry("workers.cli.console_person:list_people", "Everybody who may come in, or might once."),
    "disable": Entry("workers.cli.console_person:disable", "Let somebody in no more, and log them out."),
    "enable": Entry(
        "workers.cli.console_person:enable",
        "Let somebody in again who was disabled, with the password and the roles they had.",
    ),
    "roles": Entry(
        "workers.cli.console_person:roles",
        "Give somebody other roles, instead of all that they had; they are logged out.",
    ),
    "password": Entry("workers.cli.console_person:password", "Give somebody another password."),
}
person_app = lazy_app("Who may come into the console.", TABLE)
RolesOption = Annotated[list[Role], typer.Option(help="What they do; may be repeated.")]
LoginArgument = Annotated[str, typer.Argument(metavar="LOGIN", help="Such as ana.souza.")]


def add(
    login: LoginArgument,
    name: Annotated[str, typer.Option(help="The person's name, as colleagues read it.")],
    role: RolesOption,
    language: Annotated[str, typer.Option(help=" or ".join(LANGUAGES))] = DEFAULT,
) -> None:
    """Let somebody into the console, with these roles.

    The password is asked for, or read from standard input; it is never an argument.
    """
    known, roles = read_login(login), frozenset(role)
    require_roles(roles)
    if language not in LANGUAGES:
        raise typer.BadParameter(f"one of {', '.join(LANGUAGES)}", param_hint="--language")
    shown, given = read_name(name), _asked_password(known)

    async def go(store: Store) -> None:
        hashed = await Passwords(PasswordHasher()).hashed(given)
        new = NewPerson(known, shown, roles, language, hashed)
        await PeopleDesk(store, shell_user()).add(new, await store.time())
        tell(f"{known} may come in now as {', '.join(sorted(roles))}.")

    with_trail(go)


def list_people() -> None:
    """Everybody who may come in, or might once."""

    async def go(store: Store) -> None:
        everybody = await store.look(lambda tx: tx.people.all())
        if not everybody:
            tell("Nobody yet: `reenvio console person add LOGIN --name NAME --role admin`.")
            return
        print_table(COLUMNS, [_cells(person) for person in everybody])

    with_store(go)


def disable(login: LoginArgument) -> None:
    """Let somebody in no more, and log them out."""
    known = read_login(login)

    async def go(store: Store) -> None:
        await PeopleDesk(store, shell_user()).disable(known, await store.time())
        tell(f"{known} is out, everywhere, and comes in no more.")

    with_trail(go)


def enable(login: LoginArgument) -> None:
    """Let somebody in again who was disabled, with the password and the roles they had."""
    known = read_login(login)

    async def go(store: Store) -> None:
        await PeopleDesk(store, shell_user()).enable(known, await store.time())
        tell(f"{known} may come in again.")

    with_trail(go)


def roles(
    login: LoginArgument,
    role: Annotated[list[Role], typer.Option(help="What they do from now on; may be repeated.")],
) -> None:
    """Give somebody other roles, instead of all that they had; they are logged out."""
    known, given = read_login(login), frozenset(role)
    require_roles(given)

    async def go(store: Store) -> None:
        await PeopleDesk(store, shell_user()).set_roles(known, given, await store.time())
        tell(f"{known} comes in as {', '.join(sorted(given))} from now on, and is logged out.")

    with_trail(go)


def password(login: LoginArgument) -> None:
    """Give somebody another password.

    It is asked for, or read from standard input; who is logged in with the old one is out.
    """
    known = read_login(login)
    given = _asked_password(known)

    async def go(store: Store) -> None:
        hashed = await Passwords(PasswordHasher()).hashed(given)
        await PeopleDesk(store, shell_user()).set_password(known, hashed, await store.time())
        tell(f"{known} has another password, and is logged out.")

    with_trail(go)


def _asked_password(login: str) -> str:
    if sys.stdin.isatty():
        given = str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    else:
        given = sys.stdin.readline().rstrip("\r\n")
    require_password(given, login)
    return given


def _cells(person: Person) -> tuple[str, ...]:
    moments = (person.password_set_at, person.disabled_at)
    said = (at.isoformat(timespec="seconds") if at else "" for at in moments)
    return person.login, person.name, ", ".join(sorted(person.roles)), person.language, *said
