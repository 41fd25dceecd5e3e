"""Whatever a payer writes into whichever field of its answer, none of its words go on."""

import pytest
from lxml import etree

from domain.own_words import OwnWords
from domain.submission import Accepted, AnswerLost, SendResult
from gateways.tiss.exchange import describe
from gateways.tiss.judgement import HttpAnswer, judge_submission
from gateways.tiss.payer_text import KEPT_CHARACTERS, payer_text
from tests.support.tiss_samples import lote, sample

ANSWERS = (
    "response_protocoloRecebimento",
    "response_mensagemErro_1001_carteira",
    "response_mensagemErro_3160_timeout",
    "response_mensagemErro_3268_duplicado",
    "fault_LoginInvalido",
    "fault_ErroInesperadoServidor",
    "response_situacaoProtocoloWS",
)
WRITTEN = ("MARIA", "Beneficiário MARIA DA SILVA", "MARIA.SILVA", "maria:Client", "Maria1", "529.982.247-25")
PERSONS = ("maria", "silva", "529")


def fields(answer: str) -> int:
    """How many texts an answer has."""
    return sum(1 for element in etree.fromstring(sample(answer)).iter() if (element.text or "").strip())


def written_into(answer: str, place: int, text: str) -> bytes:
    """The answer with the text in one of its fields, or in every one."""
    root = etree.fromstring(sample(answer))
    leaves = [element for element in root.iter() if (element.text or "").strip()]
    for leaf in leaves if place < 0 else leaves[place : place + 1]:
        leaf.text = text
    return etree.tostring(root, encoding="utf-8", xml_declaration=True)


def told(result: SendResult) -> str:
    """All that goes on of a result; the payer's words are kept apart."""
    return repr(result).lower()


def receipts_number(result: SendResult) -> str | None:
    """The number of an acceptance, or the one that a doubtful answer claims."""
    match result:
        case Accepted(protocol_number=number) | AnswerLost(claimed_protocol=number):
            return number
    return None


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize("answer", ANSWERS)
def test_no_field_of_an_answer_brings_its_words_further(answer: str, text: str, status: int) -> None:
    for place in range(-1, fields(answer)):
        body = written_into(answer, place, text)
        result = judge_submission(HttpAnswer(status, body), lote(), "ignored")
        protocol = receipts_number(result)
        assert isinstance(result, Accepted) or isinstance(result.error, OwnWords)
        if protocol != text:  # a receipt's number is the payer's to choose
            assert [person for person in PERSONS if person in told(result)] == [], place
        trace = describe(HttpAnswer(status, body), ()).lower()
        assert [person for person in PERSONS if person in trace] == [], place


def test_a_receipt_without_a_digit_in_its_number_is_none() -> None:
    for text in ("MARIA", "MARIA.SILVA"):
        for place in range(-1, fields(ANSWERS[0])):
            answer = HttpAnswer(200, written_into(ANSWERS[0], place, text))
            result = judge_submission(answer, lote(), "ignored")
            assert not (isinstance(result, Accepted) and result.protocol_number == text)


def test_the_words_of_an_answer_are_kept_for_people_without_its_markup() -> None:
    body = "<e><descricaoGlosa>Beneficiária MARIA &amp; filha</descricaoGlosa>\n<x/></e>"
    for encoding in ("utf-8", "iso-8859-1"):
        assert payer_text(HttpAnswer(500, body.encode(encoding))) == "Beneficiária MARIA & filha"


@pytest.mark.parametrize(
    "body", [b"<" * 65_536, b"<a>" * 30_000, b"&" * 65_536, b"\xff" * 65_536, b"a " * 40_000]
)
def test_the_words_of_any_answer_are_bounded(body: bytes) -> None:
    assert len(payer_text(HttpAnswer(200, body))) <= KEPT_CHARACTERS
