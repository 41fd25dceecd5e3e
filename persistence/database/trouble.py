"""What can be wrong with a database, read from its errors: what may pass, and what to tell a person."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from domain.errors import Trouble

UNREACHABLE = (DBAPIError, PoolTimeoutError, OSError)
DISK_FULL = ("53100", "SQLITE_FULL")
TOO_SLOW = "57014"
NO_FIT = "22"
FORBIDDEN = "42501"
LOGIN_REFUSED, NO_SUCH_DATABASE = "28", "3D"
LOCKED = ("55P03", "40P01", "SQLITE_BUSY", "SQLITE_LOCKED")
PASSING = (
    *("08", "40", "53", "55P03", "57P", TOO_SLOW, "58"),
    *("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN"),
)
"""Trouble with connections, conflicts, room, locks, shutdown and the system, in either database's codes."""


class DatabaseError(Trouble):
    """The database cannot be used; the text says why and which setting to look at."""


def is_worth_repeating(error: Exception) -> bool:
    """Whether the same work may go well at once: it was not wrong, and did not wait for nothing."""
    return not (isinstance(error, ProgrammingError) or has_waited(error))


def has_waited(error: Exception) -> bool:
    """Whether the database made us wait before it gave up; asking again at once would wait as long again."""
    locked = "database is locked" in str(error) or "lock timeout" in str(error)
    return locked or _code(error) == TOO_SLOW or isinstance(error, PoolTimeoutError | TimeoutError)


def is_locked_out(error: BaseException) -> bool:
    """Whether somebody else held what the work needed; that passes."""
    if isinstance(error, DatabaseError):
        return error.__cause__ is not None and is_locked_out(error.__cause__)
    return _code(error).startswith(LOCKED)


def may_pass(error: BaseException) -> bool:
    """Whether the database is in trouble and not the work, so that waiting helps."""
    if isinstance(error, DatabaseError):
        return error.__cause__ is not None and may_pass(error.__cause__)
    if not isinstance(error, DBAPIError):
        return isinstance(error, UNREACHABLE)
    return _code(error).startswith(PASSING) or error.connection_invalidated


@contextmanager
def reachable() -> Iterator[None]:
    """Turn a database that does not answer into one line of advice."""
    try:
        yield
    except UNREACHABLE as error:
        raise DatabaseError(_advice(error)) from error


def _advice(error: BaseException) -> str:
    return _advice_to_wait(error) or _advice_to_act(error)


def _advice_to_wait(error: BaseException) -> str | None:
    if _code(error).startswith(DISK_FULL):
        return "The database's disk is full: make room there; nothing is lost, and work goes on by itself."
    if isinstance(error, PoolTimeoutError):
        return "All our connections to the database are busy: work goes on by itself when one is free."
    if is_locked_out(error):
        return (
            "Somebody else holds what this needs in the database, which is well: work goes on by itself when "
            "it is free, and a command is to be given again."
        )
    return None


def _advice_to_act(error: BaseException) -> str:
    kind = type(error).__name__
    if isinstance(error, DataError) or _code(error).startswith(NO_FIT):
        return (
            f"A value does not fit where it is to be kept ({kind}): it is too long, too large or no text. "
            "Correct what was given; the database is well."
        )
    if _code(error) == FORBIDDEN:
        return (
            "The database does not let our role do this: run persistence/roles.sql again after a migration; "
            "what is past its period is removed under the role of RETENTION_DATABASE_URL."
        )
    if _code(error).startswith(LOGIN_REFUSED):
        return "The database answers, and refuses the login: see user and password in DATABASE_URL."
    if _code(error).startswith(NO_SUCH_DATABASE):
        return "The database's server answers, and has no database of that name: see DATABASE_URL."
    if isinstance(error, IntegrityError):
        return (
            f"The work contradicts a row that is there already ({kind}): somebody else was faster; ask again."
        )
    return f"The database does not answer ({kind}): see that it runs and that DATABASE_URL is right."


def _code(error: BaseException) -> str:
    """PostgreSQL's state or SQLite's code of an error, or nothing."""
    orig = getattr(error, "orig", None)
    return getattr(orig, "sqlstate", None) or getattr(orig, "sqlite_errorname", None) or ""
