"""Who came in, who went out, and who was refused: sealed into a trail of its own."""

from datetime import datetime

from persistence.repositories.noting import Noting

PEOPLE_CHAIN = "@people"
"""No claim's id begins like this."""
CAME, LEFT, TURNED_AWAY = "logged_in", "logged_out", "login_refused"


class Logins:
    """Notes in the caller's transaction; what was typed by who is not known is nowhere in them."""

    def __init__(self, notes: Noting) -> None:
        self._notes = notes

    async def came(self, who: str, way: str, refused_before: int, *, now: datetime) -> None:
        """Somebody came in; so many trials with their login had been refused just before."""
        facts = {"by": who, "way": way} | ({"refused_before": refused_before} if refused_before else {})
        await self._notes.add(PEOPLE_CHAIN, CAME, facts, now=now)

    async def left(self, who: str, how: str, *, now: datetime) -> None:
        """Somebody went out, or had not been there for too long."""
        await self._notes.add(PEOPLE_CHAIN, LEFT, {"by": who, "how": how}, now=now)

    async def refused(self, login: str, why: str, times: int, *, now: datetime) -> None:
        """Somebody did not come in as `login` (empty: as nobody we know), so often by now."""
        facts = {"login": login or None, "why": why, "times": times}
        await self._notes.add(PEOPLE_CHAIN, TURNED_AWAY, facts, now=now)
