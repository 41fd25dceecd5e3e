"""A claim's identity from its file: the same batch of the same provider is the same claim."""

import re

from domain.check_digits import holds_personal
from domain.claim import CLAIM_ID_SHAPE, ClaimId
from domain.digits import digits_from
from domain.refusals import malformed
from gateways.tiss.parties import Provider

_PLAIN = re.compile(r"[A-Za-z0-9_.]{1,14}", re.ASCII)
_DIGITS = re.compile(r"[0-9]{1,12}", re.ASCII)
_HASH_DIGITS = 18  # more than a batch number may have: the two forms never meet


def derived_claim_id(registro_ans: str, provider: Provider, batch_number: str) -> ClaimId:
    """`CLM-<registroANS>-<provider>-<numeroLote>`; what would not fit, or is a person's, as a number."""
    return ClaimId(f"CLM-{registro_ans}-{_provider(provider)}-{_shown(batch_number, _DIGITS)}")


def given_claim_id(text: str) -> ClaimId:
    """The id a user chose; it stands in the engine and in logs, where no person's number may stand."""
    claim_id = read_claim_id(text)
    if holds_personal(text):
        raise malformed(
            "claimId",
            "it holds a CPF or a CNS, by its check digits",
            rule="no person's number in a claim id",
            remedy="Choose an id without it, or leave it out.",
        )
    return claim_id


def read_claim_id(text: str) -> ClaimId:
    """An id that somebody asks about."""
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
    return _number(provider.value) if provider.kind == "CPF" else _shown(provider.value, _PLAIN)


def _shown(text: str, form: re.Pattern[str]) -> str:
    return text if form.fullmatch(text) and not holds_personal(text) else _number(text)


def _number(text: str) -> str:
    return digits_from(text, _HASH_DIGITS)
