"""A receipt beside an error proves neither: the batch may have arrived, so it is not failed, nor accepted."""

import pytest

from domain.submission import AccessDenied, AnswerLost, Failed, SendResult
from gateways.tiss.judgement import HttpAnswer, judge_status, judge_submission
from gateways.tiss.names import AnswerHash
from tests.security.hostile_answers import RECEIPT, rehashed
from tests.support.tiss_samples import lote, sample

BATCH = lote()
PROTOCOL = "900000000001"
REFUSAL = b"<ans:mensagemErro><ans:codigoGlosa>1001</ans:codigoGlosa></ans:mensagemErro>"
FAULT = b"<ans:tissFault>LoginInvalido</ans:tissFault>"
SOAP_FAULT = b"<Fault><faultcode>Client</faultcode></Fault>"
BUSINESS = b"<ans:falhaNegocio>5028</ans:falhaNegocio>"
WRONG_HASH = RECEIPT.replace(b">33054dd8", b">00000000")


def beside(error: bytes) -> bytes:
    return rehashed(RECEIPT.replace(b"<ans:recebimentoLote>", error + b"<ans:recebimentoLote>"))


def judged(body: bytes, status: int = 200, trust: AnswerHash = "required") -> SendResult:
    return judge_submission(HttpAnswer(status, body), BATCH, trust)


@pytest.mark.parametrize("error", [REFUSAL, FAULT, SOAP_FAULT, BUSINESS])
@pytest.mark.parametrize("status", [200, 500, 400])
def test_a_receipt_beside_an_error_is_ambiguous(error: bytes, status: int) -> None:
    outcome = judged(beside(error), status)
    assert isinstance(outcome, AnswerLost)
    assert (outcome.code, outcome.claimed_protocol) == ("NET:CONTRADICTION", PROTOCOL)


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503])
def test_a_receipt_under_an_http_error_is_ambiguous(status: int) -> None:
    outcome = judged(RECEIPT, status)
    assert isinstance(outcome, AnswerLost)
    assert (outcome.code, outcome.claimed_protocol) == ("NET:CONTRADICTION", PROTOCOL)


@pytest.mark.parametrize("trust", ["required", "ignored"])
def test_a_damaged_receipt_beside_an_error_is_no_less_ambiguous(trust: AnswerHash) -> None:
    outcome = judged(WRONG_HASH, 400, trust)
    assert isinstance(outcome, AnswerLost)
    assert outcome.claimed_protocol == PROTOCOL


def test_a_receipt_for_another_batch_excuses_no_error() -> None:
    other = rehashed(beside(REFUSAL).replace(b">200000000001<", b">200000000002<"))
    outcome = judged(other)
    assert isinstance(outcome, Failed)
    assert (outcome.refused, outcome.code) == (True, "TISS:1001")
    assert isinstance(judged(RECEIPT.replace(b">200000000001<", b">200000000002<"), 401), AccessDenied)


def test_half_a_receipt_excuses_no_error() -> None:
    half = beside(REFUSAL).replace(f">{PROTOCOL}<".encode(), b"><")
    assert isinstance(judged(half), Failed)


def test_a_question_answered_by_both_is_asked_again() -> None:
    both = sample("response_situacaoProtocoloWS")
    failed = judge_status(HttpAnswer(200, beside(REFUSAL)), PROTOCOL)
    assert isinstance(failed, Failed)
    assert isinstance(judge_status(HttpAnswer(401, both), PROTOCOL), AccessDenied)
