"""Reads a payer's answer, leniently: what it says, by structure, never by its texts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from lxml import etree

from domain.submission import Glosa, GlosaLevel
from gateways.tiss.glosas import glosa_code, glosa_meaning
from gateways.tiss.hash import HashError, hash_agrees
from gateways.tiss.names import FaultWord, local

_NUMBER = re.compile(r"(?=.*[0-9])[A-Za-z0-9][A-Za-z0-9./_\-]{0,11}", re.ASCII)
_GUIDE = re.compile(r"[A-Za-z0-9][A-Za-z0-9./_\-]{0,19}", re.ASCII)
_BETWEEN_WORDS = re.compile(r"[^\w./\-]+")
DESCRIPTION_MAX = 500
GLOSAS_KEPT = 1_000
_AMOUNT = re.compile(r"\d{1,10}(\.\d{1,2})?", re.ASCII)
_STATUS = re.compile(r"\d{1,2}", re.ASCII)


def is_protocol(text: str) -> bool:
    """Whether the text has the form in which we read protocol numbers (st_texto12, a digit, no blanks)."""
    return _NUMBER.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class FaultSaid:
    """One of the seven words; None when the word is not one of them."""

    word: FaultWord | None


@dataclass(frozen=True, slots=True)
class SoapFaultSaid:
    """A SOAP fault without a word: whose fault it is."""

    ours: bool


@dataclass(frozen=True, slots=True)
class RefusalSaid:
    """A refusal by code, None when it is not of the standard's form; and the words that could be a guide."""

    code: str | None
    guides: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Receipt:
    """A batch taken; of very many glosas the first, and how many more there are."""

    protocol: str
    lote: str | None
    total: str | None
    glosas: tuple[Glosa, ...]
    more_glosas: int
    hash_agrees: bool


@dataclass(frozen=True, slots=True)
class StatusSaid:
    """What became of a protocol."""

    status: int
    protocol: str
    lote: str | None
    glosas: tuple[Glosa, ...]


@dataclass(frozen=True, slots=True)
class CancelSaid:
    """What became of a cancellation."""

    status: int
    lote: str


@dataclass(frozen=True, slots=True)
class NothingSaid:
    """XML, but none of the answers we know."""


Complaint = FaultSaid | SoapFaultSaid | RefusalSaid


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A whole receipt, and beside it a complaint."""

    receipt: Receipt
    complaint: Complaint


Reading = Complaint | Contradiction | Receipt | StatusSaid | CancelSaid | NothingSaid


def read_answer(root: etree._Element) -> Reading:
    """What the answer says; a complaint anywhere wins over anything but a whole receipt."""
    receipt = _receipt(root)
    complaint = _complaint(root, receipt)
    if complaint and receipt:
        return Contradiction(receipt, complaint)
    return complaint or receipt or _status(root) or _cancellation(root) or NothingSaid()


def _complaint(root: etree._Element, receipt: Receipt | None) -> Complaint | None:
    if (word := _first(root, "tissFault")) is not None:
        return FaultSaid(_fault_word(word))
    if (fault := _first(root, "Fault")) is not None:
        return SoapFaultSaid(_is_ours(fault))
    if (error := _first(root, "mensagemErro")) is not None:
        code = glosa_code(_text(_first(error, "codigoGlosa")))
        return RefusalSaid(code, frozenset(_possible_guides(error)))
    failed = _first(root, "falhaNegocio")
    if failed is not None and (receipt or _first(root, "numeroProtocolo") is None):
        return RefusalSaid(glosa_code(_text(failed)))
    return None


def _fault_word(element: etree._Element) -> FaultWord | None:
    try:
        return FaultWord(_text(element) or "")
    except ValueError:
        return None


def _is_ours(fault: etree._Element) -> bool:
    """SOAP 1.1 says Client or Server, 1.2 says Sender or Receiver; a wrong version is our matter too."""
    code = _first(fault, "faultcode")
    value = _text(code if code is not None else _first(fault, "Value")) or ""
    name = value.rpartition(":")[2].partition(".")[0].lower()
    return name in {"client", "sender", "versionmismatch", "mustunderstand"}


def _receipt(root: etree._Element) -> Receipt | None:
    receipts = list(islice(root.iter("{*}protocoloRecebimento"), 2))
    batch = receipts[0].getparent() if len(receipts) == 1 else None
    if batch is None:
        return None
    protocol = _number(_only(receipts[0], "detalheProtocolo/numeroProtocolo"))
    if protocol is None:
        return None
    glosas, more = _glosas(receipts[0])
    return Receipt(
        protocol=protocol,
        lote=_number(_only(receipts[0], "numeroLote")),
        total=_matching(_AMOUNT, _only(receipts[0], "detalheProtocolo/valorTotalProtocolo")),
        glosas=glosas,
        more_glosas=more,
        hash_agrees=_hash_agrees(batch.getparent()),
    )


def _status(root: etree._Element) -> StatusSaid | None:
    batch = _first(root, "detalheLote")
    if batch is None:
        return None
    status = _matching(_STATUS, _only(batch, "statusProtocolo"))
    protocol = _number(_only(batch, "numeroProtocolo"))
    if status is None or protocol is None:
        return None
    return StatusSaid(int(status), protocol, _number(_only(batch, "numeroLote")), _glosas(batch)[0])


def _cancellation(root: etree._Element) -> CancelSaid | None:
    batch = _first(root, "loteCancelado")
    if batch is None:
        return None
    status = _matching(_STATUS, _only(batch, "statusCancelamento"))
    lote = _number(_only(batch, "numeroLote"))
    return CancelSaid(int(status), lote) if status and lote else None


@dataclass(frozen=True, slots=True)
class _Place:
    level: GlosaLevel = "protocol"
    guide: str | None = None


_Places = dict[etree._Element, _Place]


def _glosas(receipt: etree._Element) -> tuple[tuple[Glosa, ...], int]:
    """The first glosas, and how many more there are."""
    reasons, places = receipt.iter("{*}motivoGlosa"), _Places()
    kept = tuple(_glosa(reason, places) for reason in islice(reasons, GLOSAS_KEPT))
    return kept, sum(1 for _ in reasons)


def _glosa(reason: etree._Element, places: _Places) -> Glosa:
    code = glosa_code(_text(_only(reason, "codigoGlosa"))) or "0000"
    place = _place_in(reason.getparent(), places)
    return Glosa(place.level, code, glosa_meaning(code), place.guide)


def _place_in(element: etree._Element | None, places: _Places) -> _Place:
    """What stands in an element has its place; each element's children are looked through once."""
    if element is None:
        return _Place()
    if element not in places:
        above = _place_in(element.getparent(), places)
        number = element.find("{*}numeroGuiaPrestador")
        guide = above.guide if number is None else _matching(_GUIDE, number)
        places[element] = _Place(_level_in(element, above.level), guide)
    return places[element]


def _level_in(element: etree._Element, above: GlosaLevel) -> GlosaLevel:
    match local(str(element.tag)):
        case "glosasProcedimento":
            return "procedure"
        case "glosaGuia" if above == "protocol":
            return "guide"
        case _:
            return above


def _possible_guides(error: etree._Element) -> Iterator[str]:
    text = _text(_first(error, "descricaoGlosa")) or ""
    words = (word.strip("./_-") for word in _BETWEEN_WORDS.split(text[:DESCRIPTION_MAX]))
    return (word for word in words if _GUIDE.fullmatch(word))


def _hash_agrees(message: etree._Element | None) -> bool:
    try:
        return message is not None and hash_agrees(message)
    except HashError:
        return False


def _first(element: etree._Element, name: str) -> etree._Element | None:
    return next(element.iter(f"{{*}}{name}"), None)


def _only(element: etree._Element, path: str) -> etree._Element | None:
    """The element there, if there is exactly one: of two protocols neither can be believed."""
    found = list(islice(element.iterfind("/".join(f"{{*}}{step}" for step in path.split("/"))), 2))
    return found[0] if len(found) == 1 else None


def _number(element: etree._Element | None) -> str | None:
    return _matching(_NUMBER, element)


def _matching(form: re.Pattern[str], element: etree._Element | None) -> str | None:
    text = _text(element)
    return text if text and form.fullmatch(text) else None


def _text(element: etree._Element | None) -> str | None:
    return (element.text or "").strip() or None if element is not None else None
