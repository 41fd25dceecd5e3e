"""Which systems may speak, and what each may: bearer tokens, compared in the same time, fit or not."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass

from domain.access import Permission, permissions_of
from workers.config.intake import SystemToken


@dataclass(frozen=True, slots=True)
class ApiSystem:
    """A system that may speak."""

    name: str
    permissions: frozenset[Permission]

    @property
    def signature(self) -> str:
        """Who orders something, on record."""
        return f"system:{self.name}"


class TokenCheck:
    """Knows tokens by their hashes only."""

    def __init__(self, tokens: Sequence[SystemToken]) -> None:
        self._known = tuple(
            (_digest(one.token), ApiSystem(one.name, permissions_of(one.roles))) for one in tokens
        )

    def who(self, authorization: str | None) -> ApiSystem | None:
        """Whose token the header carries; every one is compared, to the last byte."""
        scheme, _, token = (authorization or "").partition(" ")
        given = _digest(token.strip())
        fits = [system for known, system in self._known if hmac.compare_digest(given, known)]
        return fits[0] if scheme.lower() == "bearer" and fits else None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
