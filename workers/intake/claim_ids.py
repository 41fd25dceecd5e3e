"""A claim's identity from its file: the same batch of the same provider is the same claim."""

import hashlib
import re

from domain.claim import CLAIM_ID_SHAPE, ClaimId
from gateways.tiss.parties import Provider
from workers.intake.refusal import malformed

_PLAIN = re.compile(r"[A-Za-z0-9_.]{1,14}", re.ASCII)
_DIGITS = re.compile(r"[0-9]{1,12}", re.ASCII)
_HASH_DIGITS = 18  # more than a batch number may have: the two forms never meet


def derived_claim_id(registro_ans: str, provider: Provider, batch_number: str) -> ClaimId:
    """`CLM-<registroANS>-<provider>-<numeroLote>`; what would not fit, or is a person's, as a number."""
    number = batch_number if _DIGITS.fullmatch(batch_number) else _number(batch_number)
    return ClaimId(f"CLM-{registro_ans}-{_provider(provider)}-{number}")


def given_claim_id(text: str) -> ClaimId:
    """The id a user chose."""
    try:
        return ClaimId(text)
    except ValueError as error:
        raise malformed(
            "claimId",
            "it has not the shape of a claim id",
            rule=CLAIM_ID_SHAPE,
            remedy="Write it like CLM-001-1234567890, or leave it out.",
        ) from error


def _provider(provider: Provider) -> str:
    if provider.kind != "CPF" and _PLAIN.fullmatch(provider.value):
        return provider.value
    return _number(provider.value)


def _number(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"{int.from_bytes(digest[:8]) % 10**_HASH_DIGITS:0{_HASH_DIGITS}d}"
