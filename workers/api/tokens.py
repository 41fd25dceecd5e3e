"""Who may speak: bearer tokens, compared in the same time whether they fit or not."""

import hashlib
import hmac
from collections.abc import Sequence


class TokenCheck:
    """Knows tokens by their hashes only."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._known = tuple(_digest(token) for token in tokens)

    def admits(self, authorization: str | None) -> bool:
        """Whether the header carries a known token; every one is compared, to the last byte."""
        scheme, _, token = (authorization or "").partition(" ")
        given = _digest(token.strip())
        fits = [hmac.compare_digest(given, known) for known in self._known]
        return scheme.lower() == "bearer" and any(fits)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
