"""What depends on each encryption key."""

from collections import Counter
from collections.abc import Mapping, Sequence

from persistence.audit.key_needs import KeyNeed
from persistence.audit.seals import EVENTS
from persistence.encryption.cipher import Cipher
from persistence.encryption.keyed_hashes import key_name
from persistence.repositories.guides import PURPOSE
from persistence.repositories.sealed import KeyUses

GUIDES, AUDIT = "guides", "audit events"
MISSING = 1
Uses = Mapping[str, Mapping[str, int]]


def by_key(uses: KeyUses, cipher: Cipher) -> Uses:
    """What depends on each key, by its id; guides are kept by a key's name, which begins with its id."""
    found: dict[str, Counter[str]] = {}
    for use in uses.values:
        found.setdefault(use.key_id, Counter())[use.what] += use.values
    ours = {key_name(cipher, key_id, purpose=PURPOSE): key_id for key_id in cipher.keys}
    for name, claims in uses.guides:
        found.setdefault(ours.get(name, name.rpartition(".")[0]), Counter())[GUIDES] += claims
    return found


def with_audit(uses: Uses, needs: Sequence[KeyNeed], cipher: Cipher) -> Uses:
    """The same, with the audit events that nothing proves without a key."""
    audit = {_id_of(need, cipher): need.events for need in needs}
    return {key: Counter(uses.get(key, {})) + Counter({AUDIT: audit.get(key, 0)}) for key in {*uses, *audit}}


def kept_for_audit(needs: Sequence[KeyNeed], cipher: Cipher) -> list[str]:
    """How long the audit trail needs each key that seals no more, a line for each."""
    return [_kept(need, _id_of(need, cipher), cipher) for need in needs]


def _kept(need: KeyNeed, key_id: str, cipher: Cipher) -> str:
    told = f"The audit trail needs {key_id} ({need.events} events)"
    if key_id not in cipher.keys:
        return f"{told}, which is not here: bring it back, no anchor is set without it."
    until = f"the anchor of {need.until}" if need.until else "the next anchor"
    return f"{told}: keep it until {until} is set by workers that seal with {cipher.current}."


def _id_of(need: KeyNeed, cipher: Cipher) -> str:
    ours = {key_name(cipher, key_id, purpose=EVENTS): key_id for key_id in cipher.keys}
    return ours.get(need.name, need.name.rpartition(".")[0])
