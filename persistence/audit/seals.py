"""Seals that only who has the key can make; the database does not hold it."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from persistence.encryption.cipher import Cipher
from persistence.encryption.keyed_hashes import derived_key, key_name

EVENTS, ANCHORS = "audit-event", "audit-anchor"
SEAL_CHARACTERS = 32


class Judgement(Enum):
    """What a seal or a signature proves."""

    TRUE = "made with a key of ours"
    FALSE = "not made by who has the key that it names"
    UNKNOWN = "none, or of a key that is not set"


@dataclass(frozen=True, slots=True)
class AuditKey:
    """What is derived from one encryption key: one secret for events, one pair for anchors."""

    name: str
    secret: bytes
    signer: Ed25519PrivateKey

    def seal(self, sealed: str) -> str:
        """The seal of an event's hash."""
        return hmac.digest(self.secret, sealed.encode(), hashlib.sha256).hex()[:SEAL_CHARACTERS]

    def sign(self, signed: str) -> str:
        """The signature of an anchor's hash."""
        return self.signer.sign(signed.encode()).hex()

    @property
    def public(self) -> str:
        """By which anybody can check a signature, and nobody can make one."""
        return self.signer.public_key().public_bytes_raw().hex()


@dataclass(frozen=True, slots=True)
class Seals:
    """Seals with the current key, checks with any; without keys nothing is sealed and nothing proven."""

    current: AuditKey | None
    keys: Mapping[str, AuditKey]

    def of_event(self, sealed: str) -> dict[str, str]:
        """The columns of an event's seal."""
        key = self.current
        return {"seal": key.seal(sealed), "seal_key": key.name} if key else {}

    def judge_event(self, sealed: str, seal: str | None, name: str | None) -> Judgement:
        """Whether an event's seal was made by who has its key."""
        if not seal or (key := self.keys.get(name or "")) is None:
            return Judgement.UNKNOWN
        return _judged(is_true=hmac.compare_digest(key.seal(sealed).encode(), seal.encode()))

    def missing_of(self, seal: str | None, name: str | None) -> frozenset[str]:
        """The name of the key that a seal needs and that is not set, if there is one."""
        return frozenset({name}) if seal and name and name not in self.keys else frozenset()

    def judge_anchor(self, signed: str, signature: str | None, name: str | None) -> Judgement:
        """The same of an anchor's signature."""
        if not signature or (key := self.keys.get(name or "")) is None:
            return Judgement.UNKNOWN
        return _judged(is_true=is_signature(signed, signature, key.public))


def is_signature(signed: str, signature: str, public: str) -> bool:
    """Whether a signature fits a public key; nothing secret is needed."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), signed.encode())
    except (InvalidSignature, ValueError):
        return False
    return True


def seals_of(cipher: Cipher) -> Seals:
    """The seals that go with the keys of a cipher."""
    by_id = {key_id: _audit_key(cipher, key_id) for key_id in cipher.keys}
    return Seals(by_id.get(cipher.current), {key.name: key for key in by_id.values()})


UNSEALED = Seals(None, {})


def _audit_key(cipher: Cipher, key_id: str) -> AuditKey:
    return AuditKey(
        name=key_name(cipher, key_id, purpose=EVENTS),
        secret=derived_key(cipher, key_id, EVENTS),
        signer=Ed25519PrivateKey.from_private_bytes(derived_key(cipher, key_id, ANCHORS)),
    )


def _judged(*, is_true: bool) -> Judgement:
    return Judgement.TRUE if is_true else Judgement.FALSE
