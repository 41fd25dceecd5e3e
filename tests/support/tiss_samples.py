"""Fictitious messages and files for the tests."""

from datetime import UTC, datetime
from pathlib import Path

from lxml import etree

from gateways.tiss.client import Call
from gateways.tiss.lote import Lote, read_lote
from gateways.tiss.messages import MessageHeader
from gateways.tiss.names import ANS, TransactionKind, Version
from gateways.tiss.parties import Login, Payer, Provider
from gateways.tiss.settings import PayerSettings, Timeouts
from gateways.tiss.xml import XmlLimits, parse

DATA = Path(__file__).parents[1] / "data" / "tiss"
NOW = datetime(2026, 1, 15, 13, 30, tzinfo=UTC)
LOCAL = datetime(2026, 1, 15, 10, 30)  # noqa: DTZ001  # as a message writes it
CALL = Call("100000000001", NOW)
PAYER = "999999"
PROVIDER = Provider("codigoPrestadorNaOperadora", "PREST0001")
LOGIN = Login("PREST0001", "bdc6242b3737aef33c444ed68cf04a46")
CARD = "00000000000000001"
DOCTOR = "José Fictício da Conceição"


def sample(name: str) -> bytes:
    """A sample message, byte for byte."""
    return (DATA / "samples" / f"{name}.xml").read_bytes()


def message_in(envelope: bytes) -> etree._Element:
    """The message inside a SOAP envelope."""
    return parse(envelope, XmlLimits(10_000_000))[0][0]


def header(
    transaction: TransactionKind = TransactionKind.SEND_BATCH,
    sequence: str = "100000000001",
    version: Version = Version.V4_03_00,
) -> MessageHeader:
    """The header of the sample requests."""
    return MessageHeader(transaction, sequence, LOCAL, PROVIDER, Payer(PAYER), version, LOGIN)


def guide(number: int) -> str:
    """A consultation."""
    return f"""
      <ans:guiaConsulta>
        <ans:cabecalhoConsulta>
          <ans:registroANS>{PAYER}</ans:registroANS>
          <ans:numeroGuiaPrestador>GP-{number:04d}</ans:numeroGuiaPrestador>
        </ans:cabecalhoConsulta>
        <ans:dadosBeneficiario>
          <ans:numeroCarteira>{CARD}</ans:numeroCarteira>
          <ans:atendimentoRN>N</ans:atendimentoRN>
        </ans:dadosBeneficiario>
        <ans:contratadoExecutante>
          <ans:codigoPrestadorNaOperadora>PREST0001</ans:codigoPrestadorNaOperadora>
          <ans:CNES>9999999</ans:CNES>
        </ans:contratadoExecutante>
        <ans:profissionalExecutante>
          <ans:nomeProfissional>{DOCTOR}</ans:nomeProfissional>
          <ans:conselhoProfissional>06</ans:conselhoProfissional>
          <ans:numeroConselhoProfissional>000000</ans:numeroConselhoProfissional>
          <ans:UF>35</ans:UF>
          <ans:CBOS>225125</ans:CBOS>
        </ans:profissionalExecutante>
        <ans:indicacaoAcidente>9</ans:indicacaoAcidente>
        <ans:dadosAtendimento>
          <ans:regimeAtendimento>01</ans:regimeAtendimento>
          <ans:dataAtendimento>2026-01-10</ans:dataAtendimento>
          <ans:tipoConsulta>1</ans:tipoConsulta>
          <ans:procedimento>
            <ans:codigoTabela>22</ans:codigoTabela>
            <ans:codigoProcedimento>10101012</ans:codigoProcedimento>
            <ans:valorProcedimento>150.00</ans:valorProcedimento>
          </ans:procedimento>
        </ans:dadosAtendimento>
      </ans:guiaConsulta>"""


def file_text(number: str = "200000000001", guides: int = 1, version: str = "4.03.00", first: int = 1) -> str:
    """A batch as a hospital's system writes it into a file, without declaration."""
    body = "".join(guide(n) for n in range(first, first + guides))
    return f"""<ans:mensagemTISS xmlns:ans="{ANS}">
  <ans:cabecalho>
    <ans:identificacaoTransacao>
      <ans:tipoTransacao>ENVIO_LOTE_GUIAS</ans:tipoTransacao>
      <ans:sequencialTransacao>1</ans:sequencialTransacao>
      <ans:dataRegistroTransacao>2026-01-15</ans:dataRegistroTransacao>
      <ans:horaRegistroTransacao>10:30:00</ans:horaRegistroTransacao>
    </ans:identificacaoTransacao>
    <ans:origem><ans:identificacaoPrestador>
      <ans:codigoPrestadorNaOperadora>PREST0001</ans:codigoPrestadorNaOperadora>
    </ans:identificacaoPrestador></ans:origem>
    <ans:destino><ans:registroANS>{PAYER}</ans:registroANS></ans:destino>
    <ans:Padrao>{version}</ans:Padrao>
  </ans:cabecalho>
  <ans:prestadorParaOperadora>
    <ans:loteGuias>
      <ans:numeroLote>{number}</ans:numeroLote>
      <ans:guiasTISS>{body}
      </ans:guiasTISS>
    </ans:loteGuias>
  </ans:prestadorParaOperadora>
  <ans:epilogo><ans:hash>0</ans:hash></ans:epilogo>
</ans:mensagemTISS>"""


def file_bytes(text: str, encoding: str = "ISO-8859-1") -> bytes:
    """The file with its declaration."""
    return f'<?xml version="1.0" encoding="{encoding}"?>\n{text}\n'.encode(encoding)


def lote(number: str = "200000000001", guides: int = 1, version: str = "4.03.00", first: int = 1) -> Lote:
    """A batch as read from its file."""
    return read_lote(file_bytes(file_text(number, guides, version, first)))


def payer(url: str = "https://payer.example", **changes: object) -> PayerSettings:
    """A payer's settings; impatient, because tests are."""
    waits = Timeouts(queue=60, connect=10, write=2, read=10, total=60)
    given: dict[str, object] = {
        "registro_ans": PAYER,
        "endpoint": url,
        "version": "4.03.00",
        "timeouts": waits,
    }
    return PayerSettings.model_validate(given | changes)
