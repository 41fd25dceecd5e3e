"""The simulated payer's messages: receipts, refusals, faults, statuses, cancellations."""

from dataclasses import dataclass
from datetime import datetime

from lxml import etree

from gateways.practice.simulator.ledger import LedgerEntry
from gateways.tiss.elements import add, add_provider_data
from gateways.tiss.glosas import glosa_meaning
from gateways.tiss.messages import MessageHeader, envelope, new_message, seal
from gateways.tiss.names import ANS, Encoding, FaultWord, TransactionKind, Version, ans, soap
from gateways.tiss.parties import Payer, Provider

TOTAL = "150.00"


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """What all messages of one payer to one provider have in common."""

    payer: Payer
    provider: Provider
    version: Version
    at: datetime
    encoding: Encoding = "iso-8859-1"
    hash_encoding: Encoding = "iso-8859-1"


@dataclass(frozen=True, slots=True)
class Card:
    """A guide and the beneficiary's card number on it: a receipt names both."""

    guide: str
    card: str


@dataclass(frozen=True, slots=True)
class GlosaOn:
    """A deduction to announce."""

    level: str
    code: str


def receipt(
    context: ReplyContext, entry: LedgerEntry, cards: tuple[Card, ...], glosa: GlosaOn | None = None
) -> bytes:
    """`protocoloRecebimentoWS` for a batch taken."""
    message = _begin(context, "protocoloRecebimentoWS", TransactionKind.RECEIPT)
    taken = add(add(message, "recebimentoLote"), "protocoloRecebimento")
    add(taken, "registroANS", context.payer.registro_ans)
    add_provider_data(taken, context.provider)
    add(taken, "numeroLote", entry.lote)
    add(taken, "dataEnvioLote", f"{entry.at:%Y-%m-%d}")
    detail = add(taken, "detalheProtocolo")
    add(detail, "numeroProtocolo", entry.protocol)
    add(detail, "valorTotalProtocolo", TOTAL)
    if glosa and glosa.level == "protocol":
        holder = add(detail, "glosaProtocolo")
        _add_reason(add(add(holder, "motivosGlosa"), "motivoGlosa"), glosa.code)
        add(holder, "vlGlosaProtocolo", "10.00")
    guides = add(detail, "dadosGuiasProtocolo")
    for card in cards:
        _add_guide(add(guides, "dadosGuias"), card, glosa)
    return _finish(context, message)


def refusal(context: ReplyContext, code: str) -> bytes:
    """`protocoloRecebimentoWS` with a refusal of the whole batch."""
    message = _begin(context, "protocoloRecebimentoWS", TransactionKind.RECEIPT)
    _add_reason(add(add(message, "recebimentoLote"), "mensagemErro"), code)
    return _finish(context, message)


def status(context: ReplyContext, entry: LedgerEntry, number: int, cards: tuple[Card, ...]) -> bytes:
    """`situacaoProtocoloWS` for a protocol we know."""
    message = _begin(context, "situacaoProtocoloWS", TransactionKind.STATUS)
    answer = add(add(message, "situacaoProtocolo"), "situacaoDoProtocolo")
    add(answer, "identificacaoOperadora", context.payer.registro_ans)
    add_provider_data(answer, context.provider)
    batch = add(add(answer, "lote"), "detalheLote")
    add(batch, "statusProtocolo", str(number))
    add(batch, "numeroProtocolo", entry.protocol)
    add(batch, "numeroLote", entry.lote)
    add(batch, "dataEnvioLote", f"{entry.at:%Y-%m-%d}")
    amounts = add(batch, "valorTotalLote")
    for name, amount in (("valorProcessado", TOTAL), ("valorGlosa", "0.00"), ("valorLiberado", TOTAL)):
        add(amounts, name, amount)
    guides = add(batch, "guiasTISS")
    for card in cards:
        _add_guide(add(add(guides, "guiasMedicas"), "guias"), card, None)
    return _finish(context, message)


def status_refusal(context: ReplyContext, code: str) -> bytes:
    """`situacaoProtocoloWS` with a refusal."""
    message = _begin(context, "situacaoProtocoloWS", TransactionKind.STATUS)
    _add_reason(add(add(message, "situacaoProtocolo"), "mensagemErro"), code)
    return _finish(context, message)


def cancellation(context: ReplyContext, lote: str, number: int) -> bytes:
    """`reciboCancelaGuiaWS` for a whole batch."""
    message = _begin(context, "reciboCancelaGuiaWS", TransactionKind.CANCELLED)
    answer = add(add(message, "reciboCancelaGuia"), "reciboCancelaGuia")
    add(answer, "registroANS", context.payer.registro_ans)
    add_provider_data(answer, context.provider)
    batch = add(add(answer, "retornoStatus"), "loteCancelado")
    add(batch, "numeroLote", lote)
    add(batch, "statusCancelamento", str(number))
    return _finish(context, message)


def fault(word: FaultWord, *, bare: bool = False, encoding: Encoding = "iso-8859-1") -> bytes:
    """One of the seven words, in a SOAP fault or, as some do, straight in the body."""
    said = etree.Element(ans("tissFaultWS"), nsmap={"ans": ANS})
    add(said, "tissFault", word)
    if bare:
        return envelope(said, encoding)
    side = "Server" if word is FaultWord.SERVER_ERROR else "Client"
    return envelope(_soap_fault(side, said), encoding)


def soap_fault(side: str, *, encoding: Encoding = "iso-8859-1") -> bytes:
    """A SOAP fault without a word."""
    return envelope(_soap_fault(side, None), encoding)


def _soap_fault(side: str, said: etree._Element | None) -> etree._Element:
    outer = etree.Element(soap("Fault"), nsmap={"soapenv": "http://schemas.xmlsoap.org/soap/envelope/"})
    etree.SubElement(outer, "faultcode").text = f"soapenv:{side}"
    etree.SubElement(outer, "faultstring").text = "TissFault"
    if said is not None:
        etree.SubElement(outer, "detail").append(said)
    return outer


def _begin(context: ReplyContext, name: str, transaction: TransactionKind) -> etree._Element:
    return new_message(
        name, MessageHeader(transaction, "1", context.at, context.payer, context.provider, context.version)
    )


def _finish(context: ReplyContext, message: etree._Element) -> bytes:
    return envelope(seal(message, context.hash_encoding), context.encoding)


def _add_reason(parent: etree._Element, code: str) -> None:
    add(parent, "codigoGlosa", code)
    add(parent, "descricaoGlosa", glosa_meaning(code).replace("–", "-"))  # noqa: RUF001  # not ISO-8859-1


def _add_guide(parent: etree._Element, card: Card, glosa: GlosaOn | None) -> None:
    add(parent, "numeroGuiaPrestador", card.guide)
    person = add(parent, "dadosBeneficiario")
    add(person, "numeroCarteira", card.card)
    add(person, "atendimentoRN", "N")
    if glosa and glosa.level == "guide":
        _add_reason(add(add(parent, "glosaGuia"), "motivoGlosa"), glosa.code)
