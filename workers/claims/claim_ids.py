"""A claim's identity from its file: the same batch of the same provider is the same claim."""

import re
from collections.abc import Callable, Sequence
from functools import partial

from domain.check_digits import holds_personal
from domain.claim import CLAIM_ID_SHAPE, ClaimId
from domain.digits import digits_from
from domain.refusals import malformed
from gateways.tiss.parties import Provider
from persistence.encryption.cipher import Cipher
from persistence.encryption.keyed_hashes import keyed_digits

Digits = Callable[[str], str]
_PLAIN = re.compile(r"(?=.*[0-9])[A-Za-z0-9_.]{1,14}", re.ASCII)  # a name has no digit
_EARLIER_PLAIN = re.compile(r"[A-Za-z0-9_.]{1,14}", re.ASCII)
_DIGITS = re.compile(r"[0-9]{1,12}", re.ASCII)
_HASH_DIGITS = 18  # more than a batch number may have: the two forms never meet
_PURPOSE = "claim ids"


def derived_claim_ids(
    cipher: Cipher, registro_ans: str, provider: Provider, batch_number: str
) -> Sequence[ClaimId]:
    """`CLM-<registroANS>-<provider>-<numeroLote>`; what would not fit, or is a person's, as a keyed number.

    The first is a new claim's; the others are those that earlier keys and versions gave the same batch.
    """
    keys = sorted(cipher.keys, key=lambda key_id: key_id != cipher.current)
    ids = [_Namer(_number_by(cipher, key_id)).id_of(registro_ans, provider, batch_number) for key_id in keys]
    earlier = _Namer(partial(digits_from, length=_HASH_DIGITS), _EARLIER_PLAIN)
    return tuple(dict.fromkeys((*ids, earlier.id_of(registro_ans, provider, batch_number))))


def outward_id(cipher: Cipher, text: str) -> str:
    """An id under which a claim may be told of: a keyed number in the place of one that holds a person's."""
    return f"CLM-H-{_number_by(cipher, cipher.current)(text)}" if holds_personal(text) else text


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


class _Namer:
    """Names batches; `number` stands for what may not be shown."""

    def __init__(self, number: Digits, plain: re.Pattern[str] = _PLAIN) -> None:
        self._number = number
        self._plain = plain

    def id_of(self, registro_ans: str, provider: Provider, batch_number: str) -> ClaimId:
        return ClaimId(f"CLM-{registro_ans}-{self._provider(provider)}-{self._shown(batch_number, _DIGITS)}")

    def _provider(self, provider: Provider) -> str:
        is_person = provider.kind == "CPF"
        return self._number(provider.value) if is_person else self._shown(provider.value, self._plain)

    def _shown(self, text: str, form: re.Pattern[str]) -> str:
        return text if form.fullmatch(text) and not holds_personal(text) else self._number(text)


def _number_by(cipher: Cipher, key_id: str) -> Digits:
    return lambda text: keyed_digits(cipher, key_id, text, length=_HASH_DIGITS, purpose=_PURPOSE)
