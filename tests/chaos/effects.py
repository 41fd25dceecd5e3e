"""Effects that must happen once: a table of keys and a list of effects, written in one transaction."""

import sqlite3
from pathlib import Path

_TABLES = """
create table if not exists tried (key text, run text);
create index if not exists tried_by_key on tried (key);
create table if not exists done (key text primary key);
create table if not exists effects (key text, run text);
"""


class Effects:
    """SQLite on a file that several processes share, or in memory."""

    def __init__(self, path: Path | None = None) -> None:
        self._db = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=30)
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = normal")
        self._db.executescript(_TABLES)

    def apply(self, key: str, run: str) -> int:
        """Bring the effect about unless the key is known; how often the key was tried before."""
        self._db.execute("begin immediate")
        tried = self._one("select count(*) from tried where key = ?", key)
        self._db.execute("insert into tried values (?, ?)", (key, run))
        if self._db.execute("insert or ignore into done values (?)", (key,)).rowcount:
            self._db.execute("insert into effects values (?, ?)", (key, run))
        self._db.execute("commit")
        return tried

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    @property
    def keys(self) -> int:
        """How many keys had their effect."""
        return self._one("select count(distinct key) from effects")

    @property
    def doubled(self) -> int:
        """Effects that happened again."""
        return self._one("select count(*) - count(distinct key) from effects")

    @property
    def repeated_runs(self) -> int:
        """Runs of a handler beyond the first for its key."""
        return self._one("select count(*) - count(distinct key) from tried")

    def _one(self, query: str, *given: str) -> int:
        row = self._db.execute(query, given).fetchone()
        return int(row[0])
