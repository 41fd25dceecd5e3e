"""Answers to questions and cancellations are read by structure; without a clear word nothing is assumed."""

from datetime import timedelta

import pytest

from domain.submission import AccessDenied, AnswerLost, Failed, Glosa
from gateways.tiss.answers import is_protocol
from gateways.tiss.faults import DOWN, TRANSIENT
from gateways.tiss.judgement import HttpAnswer, judge_cancel, judge_status
from gateways.tiss.outcomes import (
    Cancellation,
    CancelStatus,
    ProtocolStatus,
    Situation,
    StatusOutcome,
)
from tests.support.tiss_client import bare
from tests.support.tiss_samples import sample

RECEIPT = sample("response_protocoloRecebimento")
STATUS = sample("response_situacaoProtocoloWS")


def kind_of(outcome: StatusOutcome) -> object:
    return outcome if isinstance(outcome, Situation) else bare(outcome)


def test_the_sample_status_is_read() -> None:
    outcome = judge_status(HttpAnswer(200, STATUS), "900000000001")
    assert outcome == Situation(ProtocolStatus.RECEIVED, "900000000001", "200000000001")


@pytest.mark.parametrize("number", ProtocolStatus)
def test_all_ten_statuses_are_known(number: ProtocolStatus) -> None:
    body = STATUS.replace(b"statusProtocolo>1<", f"statusProtocolo>{number.value}<".encode())
    outcome = judge_status(HttpAnswer(200, body), "900000000001")
    assert isinstance(outcome, Situation)
    assert outcome.status is number


@pytest.mark.parametrize(
    "body",
    [
        STATUS.replace(b"statusProtocolo>1<", b"statusProtocolo>11<"),
        STATUS.replace(b"statusProtocolo>1<", b"statusProtocolo>x<"),
        STATUS.replace(b"numeroProtocolo>900000000001<", b"numeroProtocolo>1<"),
        RECEIPT,
        b"",
    ],
)
def test_a_status_that_is_none_is_asked_again(body: bytes) -> None:
    assert kind_of(judge_status(HttpAnswer(200, body), "900000000001")) == TRANSIENT


def test_a_refused_question_keeps_its_code() -> None:
    refused = sample("response_mensagemErro_1001_carteira").replace(b">1001<", b">3291<")
    assert kind_of(judge_status(HttpAnswer(200, refused), "1")) == TRANSIENT
    assert isinstance(judge_status(HttpAnswer(401, b""), "1"), AccessDenied)


def test_a_question_meets_an_outage_as_a_send_does() -> None:
    down = judge_status(HttpAnswer(503, b"", timedelta(minutes=2)), "1")
    assert isinstance(down, Failed)
    assert kind_of(down) == DOWN
    assert down.retry_after == timedelta(minutes=2)
    assert kind_of(judge_status(HttpAnswer(500, b""), "1")) == TRANSIENT


@pytest.mark.parametrize("number", ["1", "900000000001", "AB-12/2026", "x" * 11 + "1"])
def test_a_protocol_number_has_one_to_twelve_characters(number: str) -> None:
    assert is_protocol(number)


@pytest.mark.parametrize(
    "text", ["", "x" * 12 + "1", "MARIA", "12 34", " 1", "1\n", "-1", "é", "Maria Silva"]
)
def test_any_other_text_is_no_protocol_number(text: str) -> None:
    assert not is_protocol(text)


def cancel_answer(status: str, number: str = "200000000001") -> bytes:
    space = "http://www.ans.gov.br/padroes/tiss/schemas"
    batch = f"<numeroLote>{number}</numeroLote><statusCancelamento>{status}</statusCancelamento>"
    return f'<loteCancelado xmlns="{space}">{batch}</loteCancelado>'.encode()


@pytest.mark.parametrize("number", CancelStatus)
def test_all_six_cancel_statuses_are_known(number: CancelStatus) -> None:
    outcome = judge_cancel(HttpAnswer(200, cancel_answer(str(number.value))), "200000000001")
    assert outcome == Cancellation(number, "200000000001")


@pytest.mark.parametrize(
    "body", [cancel_answer("7"), cancel_answer("1", "2"), cancel_answer("x"), RECEIPT, b""]
)
def test_a_cancellation_without_a_clear_word_is_ambiguous(body: bytes) -> None:
    assert isinstance(judge_cancel(HttpAnswer(200, body), "200000000001"), AnswerLost)


@pytest.mark.parametrize("code", [b"3162", b"3291"])
def test_a_cancellation_that_finds_no_protocol_says_so(code: bytes) -> None:
    refused = sample("response_mensagemErro_1001_carteira").replace(b">1001<", b">" + code + b"<")
    outcome = judge_cancel(HttpAnswer(200, refused), "200000000001")
    assert outcome == Cancellation(CancelStatus.NO_SUCH_PROTOCOL, "200000000001")


def test_glosas_of_a_status_are_read() -> None:
    reason = b"<ans:motivoGlosa><ans:codigoGlosa>1801</ans:codigoGlosa></ans:motivoGlosa>"
    glosa = b"<ans:glosaGuia>" + reason + b"</ans:glosaGuia></ans:guias>"
    outcome = judge_status(HttpAnswer(200, STATUS.replace(b"</ans:guias>", glosa)), "900000000001")
    assert isinstance(outcome, Situation)
    assert outcome.glosas == (Glosa("guide", "1801", "PROCEDIMENTO INVÁLIDO", "GP-0001"),)
