"""Answers as a hostile payer writes them, of any size."""

import re
from collections.abc import Callable

from gateways.tiss.hash import message_hash
from gateways.tiss.messages import envelope
from gateways.tiss.names import ANS, ans
from tests.support.tiss_samples import message_in, sample

RECEIPT = sample("response_protocoloRecebimento")
_PLACE = re.compile(rb"<ans:dadosGuiasProtocolo>")


def receipt_with(inside: bytes) -> bytes:
    """The sample receipt with more in its protocol, under a right hash."""
    return rehashed(_PLACE.sub(lambda found: inside + found[0], RECEIPT))


def rehashed(body: bytes) -> bytes:
    """The answer with a right hash, after a change of its values."""
    message = message_in(body)
    stated = message.find(ans("hash"))
    assert stated is not None
    stated.text = message_hash(message)
    return envelope(message, "iso-8859-1")


def empty_reasons(count: int) -> bytes:
    """Reasons without a word, side by side."""
    return b"<ans:motivoGlosa/>" * count


def refused_everywhere(count: int) -> bytes:
    """Reasons in very many procedures of one guide."""
    one = b"<ans:glosasProcedimento><ans:motivoGlosa/></ans:glosasProcedimento>"
    number = b"<ans:numeroGuiaPrestador>GP-0001</ans:numeroGuiaPrestador>"
    return b"<ans:dadosGuias>" + number + one * count + b"</ans:dadosGuias>"


def side_by_side(count: int) -> bytes:
    """What made judging quadratic: each reason looked through all its siblings for a guide's number."""
    return receipt_with(empty_reasons(count))


def under_procedures(count: int) -> bytes:
    """The same one level deeper."""
    return receipt_with(refused_everywhere(count))


def deeply_nested(count: int) -> bytes:
    """Reasons under as many levels as we read, each level with many children."""
    levels = 40
    each = b"<ans:x/>" * (count // levels)
    opened = b"".join(b"<ans:glosaGuia>" + each for _ in range(levels))
    return receipt_with(opened + empty_reasons(count) + b"</ans:glosaGuia>" * levels)


def many_receipts(count: int) -> bytes:
    """Receipt after receipt."""
    return _answer(b"<ans:protocoloRecebimento/>" * count)


def many_protocols(count: int) -> bytes:
    """One receipt with protocol after protocol."""
    number = b"<ans:detalheProtocolo><ans:numeroProtocolo>1</ans:numeroProtocolo></ans:detalheProtocolo>"
    return _answer(b"<ans:protocoloRecebimento>" + number * count + b"</ans:protocoloRecebimento>")


def many_refusals(count: int) -> bytes:
    """Refusal after refusal, none with a code."""
    return _answer(b"<ans:mensagemErro/>" * count)


def one_long_refusal(count: int) -> bytes:
    """A refusal whose text never ends."""
    words = b"<ans:codigoGlosa>1308</ans:codigoGlosa><ans:descricaoGlosa>" + b"GP-1 " * 5 * count
    return _answer(b"<ans:mensagemErro>" + words + b"</ans:descricaoGlosa></ans:mensagemErro>")


def many_hashes(count: int) -> bytes:
    """A receipt with hash after hash."""
    return RECEIPT.replace(b"<ans:hash>", b"<ans:hash/>" * count + b"<ans:hash>")


def many_attributes(count: int) -> bytes:
    """One element with very many attributes."""
    given = b" ".join(b'a%d=""' % number for number in range(count))
    return RECEIPT.replace(b"<ans:recebimentoLote>", b"<ans:recebimentoLote " + given + b">")


def many_namespaces(count: int) -> bytes:
    """One element that declares very many namespaces."""
    given = b" ".join(b'xmlns:n%d="u%d"' % (number, number) for number in range(count))
    return RECEIPT.replace(b"<ans:recebimentoLote>", b"<ans:recebimentoLote " + given + b">")


HOSTILE: tuple[Callable[[int], bytes], ...] = (
    side_by_side,
    under_procedures,
    deeply_nested,
    many_receipts,
    many_protocols,
    many_refusals,
    one_long_refusal,
    many_hashes,
    many_attributes,
    many_namespaces,
)


def _answer(inside: bytes) -> bytes:
    return b'<a xmlns:ans="' + ANS.encode() + b'">' + inside + b"</a>"
