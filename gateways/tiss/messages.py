"""Builds messages: header, body and hash, and the SOAP envelope around them; pure."""

import unicodedata
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from lxml import etree

from gateways.tiss.elements import add, add_party, add_provider_data
from gateways.tiss.hash import message_hash
from gateways.tiss.lote import Lote
from gateways.tiss.names import ANS, SIGNATURE, SOAP, Encoding, TransactionKind, Version, ans, soap
from gateways.tiss.parties import Login, Party, Provider


@dataclass(frozen=True, slots=True)
class MessageHeader:
    """What every message begins with; `at` is the sender's local time, `sequence` has 1 to 12 characters."""

    transaction: TransactionKind
    sequence: str
    at: datetime
    sender: Party
    receiver: Party
    version: Version
    login: Login | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch to cancel; the protocol may be unknown, that is what the question is good for."""

    number: str
    protocol: str | None = None


def lote_message(header: MessageHeader, lote: Lote, *, ascii_text: bool = False) -> etree._Element:
    """`loteGuiasWS`: the batch as the file has it, without indentation and blanks around values."""
    message = new_message("loteGuiasWS", header)
    message.append(_tidy(deepcopy(lote.xml), ascii_text=ascii_text))
    etree.cleanup_namespaces(message)
    return message


def status_message(header: MessageHeader, provider: Provider, protocol: str) -> etree._Element:
    """`solicitacaoStatusProtocoloWS`: what became of a protocol."""
    message = new_message("solicitacaoStatusProtocoloWS", header)
    question = add(message, "solicitacaoStatusProtocolo")
    add_provider_data(question, provider)
    add(question, "numeroProtocolo", protocol)
    return message


def cancel_message(header: MessageHeader, provider: Provider, batch: Batch) -> etree._Element:
    """`cancelaGuiaWS` for a whole batch."""
    message = new_message("cancelaGuiaWS", header)
    request = add(message, "cancelaGuia")
    add_provider_data(request, provider)
    which = add(add(request, "tipoCancelamento"), "tipoCancelamentoLote")
    add(which, "numeroLote", batch.number)
    if batch.protocol:
        add(which, "numeroProtocolo", batch.protocol)
    return message


def new_message(name: str, header: MessageHeader) -> etree._Element:
    """A message with its header and nothing else yet."""
    message = etree.Element(ans(name), nsmap={"ans": ANS})
    _add_header(message, header)
    return message


def seal(message: etree._Element, encoding: Encoding) -> etree._Element:
    """The message with its hash as last element."""
    digest = message_hash(message, encoding)
    add(message, "hash", digest)
    return message


def envelope(content: etree._Element, encoding: Encoding) -> bytes:
    """The SOAP 1.1 message as bytes."""
    root = etree.Element(soap("Envelope"), nsmap={"soapenv": SOAP})
    etree.SubElement(root, soap("Body")).append(content)
    return cast("bytes", etree.tostring(root, xml_declaration=True, encoding=encoding.upper()))


def _add_header(message: etree._Element, header: MessageHeader) -> None:
    element = add(message, "cabecalho")
    transaction = add(element, "identificacaoTransacao")
    add(transaction, "tipoTransacao", header.transaction)
    add(transaction, "sequencialTransacao", header.sequence)
    add(transaction, "dataRegistroTransacao", f"{header.at:%Y-%m-%d}")
    add(transaction, "horaRegistroTransacao", f"{header.at:%H:%M:%S}")
    add_party(add(element, "origem"), header.sender)
    add_party(add(element, "destino"), header.receiver)
    add(element, "Padrao", header.version)
    if header.login:
        account = add(element, "loginSenhaPrestador")
        add(account, "loginPrestador", header.login.name)
        add(account, "senhaPrestador", header.login.password_md5)


def _tidy(batch: etree._Element, *, ascii_text: bool) -> etree._Element:
    batch.tail = None
    if batch.find(f".//{{{SIGNATURE}}}SignedInfo") is not None:
        return batch  # a signed guide must not change by a blank
    for element in batch.iter():
        element.tail = None
        element.text = None if len(element) else _value(element.text, ascii_text=ascii_text)
    return batch


def _value(text: str | None, *, ascii_text: bool) -> str | None:
    value = (text or "").strip()
    if ascii_text and not value.isascii():
        value = unicodedata.normalize("NFKD", value).encode("ascii", "ignore").decode()
    return value or None
