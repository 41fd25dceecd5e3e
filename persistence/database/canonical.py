"""JSON in one form only, so that equal values give equal texts and equal hashes."""

import json
from hashlib import sha256

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(value: object) -> str:
    """Sorted keys, no blanks, no numbers that JSON does not know."""
    return _ENCODER.encode(value)


def fingerprint(value: object) -> str:
    """SHA-256 of the canonical form, in hex; half of a surrogate pair, which JSON may hold, is hashed too."""
    return sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()
