"""The files of the demo: one fictitious consultation per batch, as a hospital's system would export it."""

from gateways.tiss.names import ANS, Version

PROVIDER = "PREST0001"
CARD, CORRECTED_CARD = "00000000000000001", "00000000000000002"


def batch_file(number: str, registro_ans: str, *, card: str = CARD) -> bytes:
    """A TISS file with the batch of this number for this payer."""
    text = f"""<?xml version="1.0" encoding="ISO-8859-1"?>
<ans:mensagemTISS xmlns:ans="{ANS}">
  <ans:cabecalho>
    <ans:identificacaoTransacao>
      <ans:tipoTransacao>ENVIO_LOTE_GUIAS</ans:tipoTransacao>
      <ans:sequencialTransacao>{number}</ans:sequencialTransacao>
      <ans:dataRegistroTransacao>2026-01-15</ans:dataRegistroTransacao>
      <ans:horaRegistroTransacao>10:30:00</ans:horaRegistroTransacao>
    </ans:identificacaoTransacao>
    <ans:origem><ans:identificacaoPrestador>
      <ans:codigoPrestadorNaOperadora>{PROVIDER}</ans:codigoPrestadorNaOperadora>
    </ans:identificacaoPrestador></ans:origem>
    <ans:destino><ans:registroANS>{registro_ans}</ans:registroANS></ans:destino>
    <ans:Padrao>{Version.V4_03_00}</ans:Padrao>
  </ans:cabecalho>
  <ans:prestadorParaOperadora>
    <ans:loteGuias>
      <ans:numeroLote>{number}</ans:numeroLote>
      <ans:guiasTISS>{_consultation(number, registro_ans, card)}</ans:guiasTISS>
    </ans:loteGuias>
  </ans:prestadorParaOperadora>
  <ans:epilogo><ans:hash>0</ans:hash></ans:epilogo>
</ans:mensagemTISS>
"""
    return text.encode("iso-8859-1")


def _consultation(number: str, registro_ans: str, card: str) -> str:
    return f"""
        <ans:guiaConsulta>
          <ans:cabecalhoConsulta>
            <ans:registroANS>{registro_ans}</ans:registroANS>
            <ans:numeroGuiaPrestador>GUIA-{number}</ans:numeroGuiaPrestador>
          </ans:cabecalhoConsulta>
          <ans:dadosBeneficiario>
            <ans:numeroCarteira>{card}</ans:numeroCarteira>
            <ans:atendimentoRN>N</ans:atendimentoRN>
          </ans:dadosBeneficiario>
          <ans:contratadoExecutante>
            <ans:codigoPrestadorNaOperadora>{PROVIDER}</ans:codigoPrestadorNaOperadora>
            <ans:CNES>9999999</ans:CNES>
          </ans:contratadoExecutante>
          <ans:profissionalExecutante>
            <ans:nomeProfissional>Médica Fictícia</ans:nomeProfissional>
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
        </ans:guiaConsulta>
      """
