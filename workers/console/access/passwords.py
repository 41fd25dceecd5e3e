"""Passwords: argon2id, reckoned beside the loop, a few at a time since each takes memory."""

import asyncio
from dataclasses import dataclass

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

AT_ONCE = 2
NOBODYS = "nobody's password, so that an unknown login takes as long as a known one"


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a password is the one, and its new hash where the kept one is weaker than today's."""

    is_right: bool
    rehashed: str | None = None


class Passwords:
    """Hashes and compares."""

    def __init__(self, hasher: PasswordHasher) -> None:
        self._hasher = hasher
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._nobodys: str | None = None

    async def hashed(self, password: str) -> str:
        """What is kept of it."""
        async with self._turns:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def compare(self, kept: str | None, password: str) -> Fit:
        """Whether it is the one; without one to compare, no, after the same time."""
        if self._nobodys is None:
            self._nobodys = await self.hashed(NOBODYS)
        async with self._turns:
            is_right = await asyncio.to_thread(self._fits, kept or self._nobodys, password)
        if kept is None or not is_right:
            return Fit(is_right=False)
        weak = self._hasher.check_needs_rehash(kept)
        return Fit(is_right=True, rehashed=await self.hashed(password) if weak else None)

    def _fits(self, kept: str, password: str) -> bool:
        try:
            return self._hasher.verify(kept, password)
        except (VerificationError, InvalidHashError):
            return False
