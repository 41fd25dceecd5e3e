"""Numbers that stand for a text: the same text always gives the same digits."""

import hashlib


def digits_from(text: str, length: int) -> str:
    """So many digits, at most 19, derived from the text; another text almost surely gives others."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"{int.from_bytes(digest[:8]) % 10**length:0{length}d}"
