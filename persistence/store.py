"""One job, one transaction: the repositories, and the unit of work that commits them together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from persistence.attempts import Attempts
from persistence.claims import Claims
from persistence.decisions import Decisions
from persistence.desk import Notices, Reviews
from persistence.journal import Journal


class Transaction:
    """All repositories on one connection; the caller's block commits, or nothing happened."""

    def __init__(self, connection: AsyncConnection) -> None:
        self.claims = Claims(connection)
        self.attempts = Attempts(connection)
        self.decisions = Decisions(connection)
        self.reviews = Reviews(connection)
        self.notices = Notices(connection)
        self.journal = Journal(connection)


class Store:
    """The door to the database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """A transaction that commits when the block ends well and rolls back otherwise."""
        async with self._engine.begin() as connection:
            yield Transaction(connection)
