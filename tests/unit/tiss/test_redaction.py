"""What leaves the gateway holds no person: by path, and by value."""

import pytest

from gateways.tiss.exchange import describe
from gateways.tiss.judgement import Broken, HttpAnswer
from gateways.tiss.redaction import personal_values, redacted_xml, without
from gateways.tiss.xml import XmlLimits, parse
from tests.support.tiss_samples import CARD, DOCTOR, lote, message_in, sample

RECEIPT = sample("response_protocoloRecebimento")


def test_a_redacted_message_keeps_codes_and_numbers_and_nothing_else() -> None:
    seen = redacted_xml(parse(sample("response_mensagemErro_1001_carteira"), XmlLimits(1_000_000)))
    assert "<ans:codigoGlosa>1001</ans:codigoGlosa>" in seen
    assert "INVÁLIDO" not in seen
    assert "<ans:descricaoGlosa>[removed]</ans:descricaoGlosa>" in seen


def test_a_redacted_request_holds_neither_persons_nor_credentials() -> None:
    seen = redacted_xml(message_in(sample("request_loteGuiasWS")))
    for secret in (CARD, DOCTOR, "PREST0001", "bdc6242b", "10101012"):
        assert secret not in seen
    assert "<ans:numeroLote>200000000001</ans:numeroLote>" in seen


def test_attributes_and_mixed_text_are_removed() -> None:
    root = parse(b'<numeroLote nome="Maria">1<b>Maria</b>Maria</numeroLote>', XmlLimits(1_000))
    assert redacted_xml(root) == "<numeroLote><b>[removed]</b></numeroLote>"


def test_a_business_field_with_a_persons_name_in_it_is_removed_too() -> None:
    for name in (b"Maria da Silva", b"Maria"):
        root = parse(b"<numeroProtocolo>" + name + b"</numeroProtocolo>", XmlLimits(1_000))
        assert "Maria" not in redacted_xml(root)


@pytest.mark.parametrize("number", ["52998224725", "529.982.247-25", "898001160651207"])
def test_a_business_field_with_a_persons_number_in_it_is_removed_too(number: str) -> None:
    root = parse(f"<numeroProtocolo>{number}</numeroProtocolo>".encode(), XmlLimits(1_000))
    assert redacted_xml(root) == "<numeroProtocolo>[removed]</numeroProtocolo>"


def test_a_long_message_is_cut() -> None:
    assert len(redacted_xml(message_in(sample("request_loteGuiasWS")), limit=100)) == 100


def test_values_we_sent_are_found_again_in_any_case_and_accent() -> None:
    values = personal_values(lote().xml)
    assert values == {CARD, DOCTOR}
    text = f"carteira {CARD} de JOSE FICTICIO DA CONCEICAO e josé fictício da conceição"
    assert without(text, values) == "carteira [removed] de [removed] e [removed]"


def test_a_letter_that_folds_into_two_does_not_shift_the_cut() -> None:
    assert "SILVA" not in without("ﬁm de Silva", {"Silva"}).upper()


def test_a_listener_gets_the_answer_without_persons() -> None:
    seen = describe(HttpAnswer(200, RECEIPT), personal_values(lote().xml))
    assert seen.startswith("HTTP 200: ")
    assert "900000000001" in seen
    assert CARD not in seen


def test_a_listener_learns_that_an_answer_was_no_xml_or_never_came() -> None:
    assert describe(HttpAnswer(502, b"Maria da Silva"), ()) == (
        "HTTP 502: 14 bytes that are not read: it is not well-formed XML"
    )
    assert describe(Broken("NET:RESET"), ()) == "NET:RESET"
