"""Tokens that nobody can guess; the database knows their hashes alone."""

import hashlib
import hmac
import secrets

TOKEN_BYTES = 32


def new_token() -> str:
    """A token for a cookie, a link or a form."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_hash(token: str) -> str:
    """What is kept of it."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two tokens are one, in the same time whether they are or not; an empty one never is."""
    return bool(one) and hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
