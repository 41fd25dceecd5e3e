"""SQLite's connections, each with a thread of its own; who closes the database leaves none of them behind."""

import asyncio
import sqlite3
from contextlib import suppress
from functools import partial
from typing import Any

import aiosqlite


class SqliteConnections:
    """Opens connections and knows those whose thread has not ended, also one that its user has lost."""

    def __init__(self) -> None:
        self.are_closed = False
        self._open: set[SqliteConnection] = set()

    def connect(self, database: str, **options: Any) -> "SqliteConnection":
        """A connection that is open once it is awaited."""
        connection = SqliteConnection(partial(sqlite3.connect, database, factory=Undoing, **options))
        self._open = {other for other in self._open if not other.has_ended()} | {connection}
        return connection

    async def close(self, seconds: float) -> None:
        """Close whatever is open still, and wait that long for whatever runs there."""
        self.are_closed = True
        await asyncio.gather(*(connection.end(seconds) for connection in self._open))


class Undoing(sqlite3.Connection):
    """Lets its locks go when it is closed, whoever holds a cursor of it still.

    SQLite itself would keep them and the transaction until the last cursor is gone; those of somebody who was
    cancelled go when garbage is collected next.
    """

    def close(self) -> None:
        """Undo what is not committed, and close; nothing the second time."""
        with suppress(sqlite3.Error):
            self.rollback()
        super().close()


class SqliteConnection(aiosqlite.Connection):
    """The driver's, made to end.

    The driver's own waits for ever when it is stopped a second time, for a thread that has ended already.
    That happens to whoever is cancelled twice: by a time limit, and by a worker that stops.
    """

    def __init__(self, connector: partial[sqlite3.Connection]) -> None:
        super().__init__(connector, iter_chunk_size=64)
        self._thread.daemon = True  # a process may end while a statement runs

    def stop(self) -> asyncio.Future[None] | None:
        """End the thread once it has done what it has still to do; nothing the second time."""
        if not self._running:
            return None
        if self._connection is not None:
            self._tx.put_nowait((None, self._connection.close))  # who closes it meanwhile only forgets it
        return super().stop()

    async def end(self, seconds: float) -> None:
        """Stop it and wait for its thread: what that has to tell needs this event loop."""
        self.stop()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join, seconds)

    def has_ended(self) -> bool:
        """Whether it was stopped and its thread is gone."""
        return not self._running and not self._thread.is_alive()
