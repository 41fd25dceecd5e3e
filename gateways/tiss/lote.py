"""Reads a hospital's file: one batch of guides (lote), as a TISS file, a SOAP message or bare."""

import hashlib
from dataclasses import dataclass, field
from typing import Never, get_args

from lxml import etree

from domain.errors import Trouble
from domain.intake import MAX_FILE_BYTES
from gateways.tiss.hash import HashError, hash_agrees
from gateways.tiss.names import ans, local, soap
from gateways.tiss.parties import Provider, ProviderKind
from gateways.tiss.xml import XmlLimits, XmlProblem, XmlRefusedError, parse

MAX_GUIDES = 1_000
"""Far more than the standard's 100, which the schema tells with their places."""


class LoteRefusedError(Trouble):
    """A file that is no batch we can send: one line that says why, without its content.

    `problem` says so when it is not even XML that we read.
    """

    def __init__(self, message: str, problem: XmlProblem | None = None) -> None:
        super().__init__(message)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Lote:
    """One batch: its number, its guides' numbers, and what its file says about sender and receiver."""

    number: str
    guides: tuple[str, ...]
    guide_type: str
    registro_ans: str | None = None
    version: str | None = None
    provider: Provider | None = None
    hash_agrees: bool | None = None
    xml: etree._Element = field(repr=False, compare=False, kw_only=True)

    @property
    def digest(self) -> str:
        """The same for the same content, however the file is indented, prefixed or encoded; else another.

        Every part is told with its length, and every element with its number of children.
        """
        total = hashlib.sha256()
        for element in self.xml.iter():
            attributes = (part for pair in sorted(element.attrib.items()) for part in pair)
            texts = (element.tag, element.text or "", element.tail or "", *attributes)
            parts = [str(text).strip() for text in texts]
            total.update(f"{len(element)} {len(parts)} ".encode())
            total.update("".join(f"{len(part)}:{part}" for part in parts).encode())
        return total.hexdigest()

    @property
    def earlier_digest(self) -> str:
        """What earlier versions kept for this content: claims that they took in are known by it."""
        texts = (f"{local(str(leaf.tag))}={(leaf.text or '').strip()}" for leaf in self.xml.iter())
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def read_lote(data: bytes) -> Lote:
    """The batch in a `mensagemTISS` file, in a `loteGuiasWS` message with or without envelope, or bare."""
    try:
        root = parse(data, XmlLimits(MAX_FILE_BYTES))
    except XmlRefusedError as error:
        raise LoteRefusedError(f"The file cannot be read: {error}.", error.problem) from None
    message = _message(root)
    batch = _batch(message)
    guides = _guides(batch)
    return Lote(
        number=_text(batch, "numeroLote") or _refuse("it has no numeroLote"),
        guides=tuple(_guide_number(guide) for guide in guides),
        guide_type=local(str(guides[0].tag)),
        registro_ans=_text(message, "cabecalho", "destino", "registroANS"),
        version=_text(message, "cabecalho", "Padrao"),
        provider=_provider(message),
        hash_agrees=_hash_agrees(message),
        xml=batch,
    )


def _message(root: etree._Element) -> etree._Element:
    if root.tag != soap("Envelope"):
        return root
    message = root.find(f"{soap('Body')}/*")
    return message if message is not None else _refuse("its SOAP body is empty")


def _batch(message: etree._Element) -> etree._Element:
    if message.tag == ans("loteGuias"):
        return message
    places = {ans("mensagemTISS"): "prestadorParaOperadora/loteGuias", ans("loteGuiasWS"): "loteGuias"}
    path = places.get(str(message.tag))
    found = message.find("/".join(map(ans, path.split("/")))) if path else None
    if found is None:
        _refuse("it holds no loteGuias; give a TISS batch file (mensagemTISS with prestadorParaOperadora)")
    return found


def _guides(batch: etree._Element) -> list[etree._Element]:
    if batch.find(f".//{ans('hash')}") is not None:
        _refuse("its batch holds a hash, which belongs into the epilogue")
    holder = batch.find(ans("guiasTISS"))
    if holder is None or len(holder) == 0:
        _refuse("its batch holds no guides")
    if len(holder) > MAX_GUIDES:
        _refuse(f"its batch holds {len(holder)} guides, and the standard allows 100: split it")
    return list(holder)


def _guide_number(guide: etree._Element) -> str:
    number = guide.find(f".//{ans('numeroGuiaPrestador')}")
    return (number.text or "").strip() if number is not None else ""


def _provider(message: etree._Element) -> Provider | None:
    for kind in get_args(ProviderKind):
        if value := _text(message, "cabecalho", "origem", "identificacaoPrestador", kind):
            return Provider(kind, value)
    return None


def _hash_agrees(message: etree._Element) -> bool | None:
    if message.find(f".//{ans('hash')}") is None:
        return None
    try:
        return hash_agrees(message)
    except HashError:
        return False


def _text(element: etree._Element, *path: str) -> str | None:
    found = element.find("/".join(map(ans, path)))
    return (found.text or "").strip() or None if found is not None else None


def _refuse(why: str) -> Never:
    raise LoteRefusedError(f"The file is no batch we can send: {why}.")
