"""What a payer says on its way in: our own words go on, the payer's are kept encrypted with the claim."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from domain.catalog import Catalog, ErrorClassification, Finding
from domain.classification import UNKNOWN_ERROR, classify, known_code
from domain.own_words import OwnWords, is_business_number
from domain.rendering import render
from domain.submission import Accepted, Answered, Glosa, NotTaken, OwnTrouble, SendResult, Submission
from gateways.tiss.faults import is_own_sentence
from persistence.encryption.cipher import Cipher
from persistence.repositories.free_texts import FreeText, TextSource, sealed_text
from persistence.store import Transaction
from workers.jobs.services import Services

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PlainSpeakingGateway:
    """A gateway whose results are told in our own words, whatever stands behind it."""

    services: Services

    async def send(self, submission: Submission, now: datetime, /) -> SendResult:
        """Send once; what the payer wrote is told apart."""
        result = await self.services.payer.send(submission, now)
        if isinstance(result, Accepted):
            return replace(result, glosas=tuple(map(_of_known_guide, result.glosas)))
        if isinstance(result, OwnTrouble):
            return result
        return in_own_words(result, self.services.policy().for_payer(submission.payer_id).catalog)


async def keep_words(
    tx: Transaction, answers: Sequence[tuple[str, Answered, datetime]], cipher: Cipher | None
) -> None:
    """Keep what a payer said of claims, at the moments of its answers, if it can be encrypted.

    The answers must be written down whatever becomes of the words.
    """
    said = [_sealed(cipher, *one) for one in answers] if cipher else []
    sealed = [text for text in said if text]
    if sealed and not await tx.free_texts.keep_if_taken(sealed):
        for text in sealed:
            log.warning("payer_words_not_kept", claim=text.claim_id, why="the database does not take them")


def _sealed(cipher: Cipher, claim_id: str, answer: Answered, at: datetime) -> FreeText | None:
    if isinstance(answer, Accepted) or not answer.said:
        return None
    try:
        return sealed_text(cipher, claim_id, TextSource.PAYER, answer.said, now=at)
    except Exception as error:  # whatever it is, the answer must not get lost with it
        log.warning("payer_words_not_kept", claim=claim_id, why=type(error).__name__)
        return None


def in_own_words(result: NotTaken, catalog: Catalog) -> NotTaken:
    """The result as we may tell it; words that are not ours become what the payer said."""
    if isinstance(result.error, OwnWords) or is_own_sentence(result.error, result.code):
        return result
    code = known_code(catalog, result.code)
    said = " ".join(filter(None, (result.error, result.said)))
    return replace(result, error=OwnWords(told(catalog, result.error, code)), code=code, said=said)


def told(catalog: Catalog, text: str, code: str | None) -> str:
    """What may be told of an error that nobody has decided about."""
    unknown = Finding(ErrorClassification.UNKNOWN, UNKNOWN_ERROR)
    return render(catalog, classify(catalog, text, known_code(catalog, code)) or unknown)


def _of_known_guide(glosa: Glosa) -> Glosa:
    return glosa if is_business_number(glosa.guide or "") else replace(glosa, guide=None)
