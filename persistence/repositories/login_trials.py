"""Logins that were tried, counted before the password is looked at: racing gains nothing."""

from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy import case, delete
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.database.dialect import among, insert_into
from persistence.tables import login_trials as trials


class LoginTrials:
    """Counts within a time; scopes are hashes, since people type passwords where a login belongs."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def count(self, scopes: Collection[str], *, now: datetime, since: datetime) -> Mapping[str, int]:
        """Count one trial more in each scope; how many there are now, those before `since` forgotten.

        Old ones of others are removed too: nobody has to come in for that.
        """
        await self._connection.execute(delete(trials).where(trials.c.began_at < since))
        return {scope: await self._count(scope, now, since) for scope in sorted(scopes)}

    async def _count(self, scope: str, now: datetime, since: datetime) -> int:
        new = insert_into(self._connection, trials).values(scope=scope, failures=1, began_at=now)
        is_over = (trials.c.began_at < since) | (trials.c.began_at > now)
        changes = {
            "failures": case((is_over, 1), else_=trials.c.failures + 1),
            "began_at": case((is_over, now), else_=trials.c.began_at),
        }
        counted = new.on_conflict_do_update(index_elements=[trials.c.scope], set_=changes)
        return int((await self._connection.execute(counted.returning(trials.c.failures))).scalar_one())

    async def forgive(self, scopes: Collection[str], *, since: datetime) -> None:
        """A login succeeded: its scopes count anew; old ones of others go too."""
        mine = among(self._connection, trials.c.scope, scopes)
        await self._connection.execute(delete(trials).where(mine | (trials.c.began_at < since)))

    async def take(self, scope: str, *, since: datetime) -> int:
        """How many there were since a moment; it counts anew."""
        taken = delete(trials).where(trials.c.scope == scope)
        row = (
            await self._connection.execute(taken.returning(trials.c.failures, trials.c.began_at))
        ).one_or_none()
        return 0 if row is None or row.began_at < since else int(row.failures)
