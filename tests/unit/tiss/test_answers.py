"""Answers of all sorts are read by structure; only a sound receipt for this batch is an acceptance."""

import re
from datetime import timedelta

import pytest

from domain.submission import Accepted, AnswerLost, Duplicate, Failed, SendResult
from gateways.tiss.faults import DENIED, DUPLICATE, LOST, LOST_DOWN, REFUSED, TRANSIENT
from gateways.tiss.hash import message_hash
from gateways.tiss.judgement import Broken, HttpAnswer, judge_submission
from gateways.tiss.messages import envelope
from gateways.tiss.names import FaultWord, ans
from tests.support.tiss_client import bare
from tests.support.tiss_samples import lote, message_in, sample

RECEIPT = sample("response_protocoloRecebimento")
STATUS = sample("response_situacaoProtocoloWS")
BATCH = lote()
PERSON = "Maria da Silva"


def judged(body: bytes, status: int = 200) -> SendResult:
    return judge_submission(HttpAnswer(status, body), BATCH)


def rehashed(body: bytes) -> bytes:
    """The answer with a right hash, after a change of its values."""
    message = message_in(body)
    stated = message.find(ans("hash"))
    assert stated is not None
    stated.text = message_hash(message)
    return envelope(message, "iso-8859-1")


def reason(code: str) -> str:
    text = f"<ans:codigoGlosa>{code}</ans:codigoGlosa><ans:descricaoGlosa>{PERSON}</ans:descricaoGlosa>"
    return f"<ans:motivoGlosa>{text}</ans:motivoGlosa>"


def inside(*names: str, text: str) -> str:
    for name in reversed(names):
        text = f"<ans:{name}>{text}</ans:{name}>"
    return text


def with_glosas() -> bytes:
    protocol = inside("glosaProtocolo", "motivosGlosa", text=reason("1101"))
    guide = inside("glosaGuia", text=reason("1801"))
    path = ("procedimentosRealizados", "procedimentoRealizado", "glosasProcedimento")
    text = RECEIPT.decode("latin-1")
    text = text.replace("<ans:dadosGuiasProtocolo>", f"{protocol}<ans:dadosGuiasProtocolo>")
    text = text.replace("</ans:dadosGuias>", f"{guide}{inside(*path, text=reason('abc'))}</ans:dadosGuias>")
    return rehashed(text.encode("latin-1"))


def test_the_sample_receipt_is_an_acceptance() -> None:
    assert judged(RECEIPT) == Accepted("900000000001", total="150.00")


def test_glosas_on_an_accepted_batch_are_kept_in_the_standards_words() -> None:
    outcome = judged(with_glosas())
    assert isinstance(outcome, Accepted)
    assert outcome.protocol_number == "900000000001"
    assert [(g.level, g.code, g.guide) for g in outcome.glosas] == [
        ("protocol", "1101", None),
        ("guide", "1801", "GP-0001"),
        ("procedure", "0000", "GP-0001"),
    ]
    assert outcome.glosas[1].meaning == "PROCEDIMENTO INVÁLIDO"
    assert PERSON not in repr(outcome)


def test_a_guide_that_is_not_ours_is_not_named() -> None:
    foreign = with_glosas().replace(b">GP-0001<", b">Maria-Silva<")
    outcome = judged(rehashed(foreign))
    assert isinstance(outcome, Accepted)
    assert {glosa.guide for glosa in outcome.glosas} == {None}


@pytest.mark.parametrize(
    ("name", "expected", "code"),
    [
        ("response_mensagemErro_1001_carteira", REFUSED, "TISS:1001"),
        ("response_mensagemErro_3160_timeout", LOST, "TISS:3160"),
        ("response_mensagemErro_3268_duplicado", DUPLICATE, "TISS:3268"),
    ],
)
def test_a_refusal_inside_a_200_is_a_refusal(name: str, expected: SendResult, code: str) -> None:
    outcome = judged(sample(name))
    assert bare(outcome) == expected
    assert not isinstance(outcome, Accepted)
    assert outcome.code == code


def known_guide(words: str) -> bytes:
    """A refusal by 1308 with a text of the payer's own."""
    text = sample("response_mensagemErro_3268_duplicado").decode("iso-8859-1").replace(">3268<", ">1308<")
    said = f"descricaoGlosa>{words}</"
    return re.sub(r"descricaoGlosa>[^<]*</", said, text).encode("iso-8859-1")


def refused_guides(words: str, guides: int = 3) -> tuple[str, ...]:
    outcome = judge_submission(HttpAnswer(200, known_guide(words)), lote(guides=guides))
    assert isinstance(outcome, Duplicate)
    assert (outcome.of, outcome.code) == ("guide", "TISS:1308")
    return outcome.guides


@pytest.mark.parametrize("words", ["GUIA GP-0002 JÁ APRESENTADA", "Guia: GP-0002.", "[GP-0002]", "(GP-0002)"])
def test_a_guide_that_the_payer_names_is_told(words: str) -> None:
    assert refused_guides(words) == ("GP-0002",)


@pytest.mark.parametrize("words", ["", "GUIA JÁ APRESENTADA", "GP-00022", "Maria Silva GP-0009 52998224725"])
def test_of_the_payers_text_nothing_but_our_own_guides_is_taken(words: str) -> None:
    assert refused_guides(words) == ()


def test_the_only_guide_of_a_batch_is_the_one_that_is_meant() -> None:
    assert refused_guides("GUIA JÁ APRESENTADA", guides=1) == ("GP-0001",)


def fault_body(word: str, *, bare: bool) -> bytes:
    body = sample("fault_SchemaInvalido").replace(b"SchemaInvalido", word.encode())
    if not bare:
        return body
    start, end = body.index(b"<ans:tissFaultWS"), body.index(b"</detail>")
    envelope_start = body[: body.index(b"<soapenv:Fault>")]
    return envelope_start + body[start:end] + b"</soapenv:Body></soapenv:Envelope>"


@pytest.mark.parametrize("word", FaultWord)
@pytest.mark.parametrize("status", [500, 200, 400])
@pytest.mark.parametrize("bare", [False, True])
def test_each_fault_word_is_found_wherever_the_payer_puts_it(
    word: FaultWord, status: int, bare: bool
) -> None:
    outcome = judged(fault_body(word, bare=bare), status)
    assert not isinstance(outcome, Accepted)
    assert outcome.code == f"FAULT:{word}"


@pytest.mark.parametrize(
    "name",
    ["fault_ErroInesperadoServidor", "fault_HashInvalido", "fault_LoginInvalido", "fault_SchemaInvalido"],
)
def test_the_sample_faults_are_read(name: str) -> None:
    outcome = judged(sample(name), 500)
    assert not isinstance(outcome, Accepted)
    assert outcome.code == f"FAULT:{name.removeprefix('fault_')}"


def test_a_fault_word_nobody_knows_blames_the_payer_and_is_not_repeated() -> None:
    outcome = judged(fault_body(PERSON, bare=False), 500)
    assert isinstance(outcome, AnswerLost)
    assert outcome.code == "SOAP:Server"
    assert PERSON not in outcome.error


def soap(code: str) -> bytes:
    space = "http://schemas.xmlsoap.org/soap/envelope/"
    fault = f"<faultcode>{code}</faultcode><faultstring>{PERSON}</faultstring>"
    return f'<s:Envelope xmlns:s="{space}"><s:Body><s:Fault>{fault}</s:Fault></s:Body></s:Envelope>'.encode()


@pytest.mark.parametrize(
    ("code", "ours"),
    [
        ("s:Client", True),
        ("Client.Authentication", True),
        ("s:VersionMismatch", True),
        ("s:MustUnderstand", True),
        ("s:Server", False),
        ("", False),
        ("anything", False),
    ],
)
def test_a_soap_fault_without_a_word_is_judged_by_its_code(code: str, ours: bool) -> None:
    outcome = judged(soap(code), 500)
    assert bare(outcome) == (REFUSED if ours else LOST)
    assert PERSON not in repr(outcome)


def test_a_soap_1_2_fault_is_understood() -> None:
    space = "http://www.w3.org/2003/05/soap-envelope"
    fault = "<s:Fault><s:Code><s:Value>s:Sender</s:Value></s:Code></s:Fault>"
    body = f'<s:Envelope xmlns:s="{space}"><s:Body>{fault}</s:Body></s:Envelope>'.encode()
    assert bare(judged(body, 500)) == REFUSED


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "NET:EMPTY_BODY"),
        (b"  \n", "NET:EMPTY_BODY"),
        (b"<!DOCTYPE html><html><body>oops</body></html>", "NET:NOT_TISS"),
        (b"<html><body>oops</body></html>", "NET:NOT_TISS"),
        (b"Service temporarily gone", "NET:NOT_TISS"),
        (RECEIPT[:900], "NET:TRUNCATED"),
        (RECEIPT[:-5], "NET:TRUNCATED"),
        (RECEIPT.decode("latin-1").encode("utf-16"), "NET:ENCODING"),
        (b"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "NET:UNSAFE_XML"),
        (b"<a>" * 100 + b"</a>" * 100, "NET:UNSAFE_XML"),
        (b"<a/>", "NET:NOT_TISS"),
        (STATUS, "NET:NOT_TISS"),
        (RECEIPT.replace(b">200000000001<", b">200000000002<"), "NET:OTHER_BATCH"),
        (RECEIPT.replace(b">900000000001<", b"><"), "NET:NOT_TISS"),
        (RECEIPT.replace(b">900000000001<", b">Maria da Silva<"), "NET:NOT_TISS"),
        (RECEIPT.replace(b">900000000001<", b">9000000000012<"), "NET:NOT_TISS"),
        (RECEIPT.replace(b">900000000001<", b">900000000002<"), "NET:ANSWER_HASH"),
    ],
)
def test_what_is_no_sound_receipt_on_a_200_is_ambiguous(body: bytes, code: str) -> None:
    outcome = judged(body)
    assert isinstance(outcome, AnswerLost)
    assert outcome.code == code


def test_a_damaged_receipt_shows_its_protocol_to_people_only() -> None:
    outcome = judged(RECEIPT.replace(b">33054dd8", b">00000000"))
    assert isinstance(outcome, AnswerLost)
    assert outcome.claimed_protocol == "900000000001"
    careless = judge_submission(
        HttpAnswer(200, RECEIPT.replace(b">33054dd8", b">00000000")), BATCH, trust="ignored"
    )
    assert careless == Accepted("900000000001", total="150.00")


def test_two_protocols_are_none() -> None:
    number = b"<ans:numeroProtocolo>900000000001</ans:numeroProtocolo>"
    assert isinstance(judged(rehashed(RECEIPT.replace(number, number * 2))), AnswerLost)


def test_a_business_failure_in_the_header_refuses_and_beside_a_protocol_leaves_doubt() -> None:
    place, failed = b"</ans:identificacaoTransacao>", b"<ans:falhaNegocio>5028</ans:falhaNegocio>"
    doubtful = judged(rehashed(RECEIPT.replace(place, place + failed)))
    assert isinstance(doubtful, AnswerLost)
    start, end = RECEIPT.index(b"<ans:recebimentoLote>"), RECEIPT.index(b"<ans:hash>")
    without = RECEIPT[:start] + RECEIPT[end:]
    refused = judged(without.replace(place, place + failed))
    assert isinstance(refused, Failed)
    assert refused.refused
    assert refused.code == "TISS:5028"


@pytest.mark.parametrize("code", ["", "abcd", "Maria da Silva", "12345", "\uff11\uff10\uff10\uff11"])
def test_a_code_of_another_form_is_a_refusal_for_a_person(code: str) -> None:
    body = sample("response_mensagemErro_1001_carteira").decode("latin-1")
    outcome = judged(body.replace(">1001<", f">{code}<").replace("ISO-8859-1", "UTF-8").encode())
    assert isinstance(outcome, Failed)
    assert outcome.refused
    assert outcome.code == "TISS:0000"


@pytest.mark.parametrize(
    ("status", "expected", "code"),
    [
        (400, REFUSED, "HTTP:400"),
        (401, DENIED, "HTTP:401"),
        (403, DENIED, "HTTP:403"),
        (404, REFUSED, "HTTP:404"),
        (413, REFUSED, "HTTP:413"),
        (429, TRANSIENT, "HTTP:429"),
        (500, LOST, "HTTP:500"),
        (503, LOST_DOWN, "HTTP:503"),
    ],
)
def test_where_no_receipt_is_in_doubt_an_http_error_says_what_came_of_it(
    status: int, expected: SendResult, code: str
) -> None:
    outcome = judged(STATUS, status)
    assert bare(outcome) == expected
    assert isinstance(outcome, Accepted) or outcome.code == code


def test_a_receipt_counts_on_any_success() -> None:
    assert judged(RECEIPT, 201) == Accepted("900000000001", total="150.00")


def test_the_payers_wish_comes_through() -> None:
    wish = timedelta(seconds=90)
    busy = judge_submission(HttpAnswer(503, b"<html/>", wish), BATCH)
    assert isinstance(busy, AnswerLost)
    assert (busy.retry_after, busy.payer_down) == (wish, True)


def test_a_broken_exchange_is_what_the_fault_map_says() -> None:
    assert isinstance(judge_submission(Broken("NET:RESET"), BATCH), AnswerLost)


def test_unknown_elements_prefixes_and_indentation_do_not_disturb() -> None:
    text = RECEIPT.decode("latin-1").replace("ans:", "q:").replace("xmlns:ans", "xmlns:q")
    text = text.replace("><", ">\n  <").replace("<q:recebimentoLote>", "<q:novidade/><q:recebimentoLote>")
    assert judged(text.encode("latin-1")) == Accepted("900000000001", total="150.00")
