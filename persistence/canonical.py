"""JSON in one form only, so that equal values give equal texts and equal hashes."""

import json
from hashlib import sha256


def canonical(value: object) -> str:
    """Sorted keys, no blanks, no numbers that JSON does not know."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def fingerprint(value: object) -> str:
    """SHA-256 of the canonical form, in hex."""
    return sha256(canonical(value).encode()).hexdigest()
