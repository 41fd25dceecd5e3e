"""Ten thousand mutated answers: no crash, no hang, no wrong acceptance."""

import random
from dataclasses import replace
from datetime import UTC, datetime
from typing import get_args

import pytest

from domain.submission import Accepted, Failure
from gateways.practice.simulator import replies
from gateways.practice.simulator.ledger import TAKEN, LedgerEntry
from gateways.practice.simulator.replies import Card, GlosaOn, ReplyContext
from gateways.tiss.exchange import describe
from gateways.tiss.judgement import HttpAnswer, judge_cancel, judge_status, judge_submission
from gateways.tiss.names import Version
from gateways.tiss.outcomes import Cancellation, Situation
from gateways.tiss.parties import Payer
from tests.fuzz.mutations import mutated
from tests.support.tiss_samples import CARD, PAYER, PROVIDER, lote, sample

AT = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
HEAD = ReplyContext(Payer(PAYER), PROVIDER, Version.V4_03_00, AT)
ENTRY = LedgerEntry(AT, PAYER, "loteGuiasWS", TAKEN, "200000000001", "900000000001", ("GP-0001",))
CARDS = (Card("GP-0001", CARD),)
BATCH = lote()
RECEIPTS = (
    replies.receipt(HEAD, ENTRY, CARDS),
    replies.receipt(HEAD, ENTRY, CARDS, GlosaOn("guide", "1801")),
    replies.receipt(replace(HEAD, encoding="utf-8", hash_encoding="utf-8"), ENTRY, CARDS),
    replies.receipt(HEAD, ENTRY, CARDS, GlosaOn("protocol", "1801")).replace(b"><", b">\n  <"),
)
OTHERS = (
    *(
        sample(f"response_mensagemErro_{name}")
        for name in ("1001_carteira", "3160_timeout", "3268_duplicado")
    ),
    sample("fault_LoginInvalido"),
    sample("fault_ErroInesperadoServidor"),
    sample("response_situacaoProtocoloWS"),
    replies.cancellation(HEAD, "200000000001", 1),
    sample("request_loteGuiasWS"),
    b"<!DOCTYPE html><html><body><p>504 Gateway Time-out</p></body></html>",
)
ANSWERS, AT_ONCE = 10_000, 500
FAILURES = get_args(Failure)


def answer(seed: int) -> tuple[bytes, bool]:
    """A mutated answer, and whether it was a receipt before."""
    rng = random.Random(-seed)
    is_receipt = rng.random() < 0.7
    return mutated(rng.choice(RECEIPTS if is_receipt else OTHERS), seed), is_receipt


@pytest.mark.parametrize("start", range(0, ANSWERS, AT_ONCE))
def test_no_mutated_answer_crashes_or_becomes_a_wrong_acceptance(start: int) -> None:
    for seed in range(start, start + AT_ONCE):
        body, was_receipt = answer(seed)
        outcome = judge_submission(HttpAnswer(200, body), BATCH)
        if isinstance(outcome, Accepted):
            assert was_receipt, seed
            assert outcome.protocol_number == "900000000001", seed
            assert outcome.total in ("150.00", None), seed
        else:
            assert isinstance(outcome, FAILURES), seed
            assert len(outcome.error) < 300, seed


@pytest.mark.parametrize("start", range(0, ANSWERS, AT_ONCE * 4))
def test_no_mutated_answer_to_a_question_or_cancellation_crashes(start: int) -> None:
    for seed in range(start, start + AT_ONCE):
        body, _ = answer(seed)
        status = judge_status(HttpAnswer(200, body), "900000000001")
        assert isinstance(status, (Situation, *FAILURES)), seed
        cancelled = judge_cancel(HttpAnswer(200, body), "200000000001")
        assert isinstance(cancelled, (Cancellation, *FAILURES)), seed


@pytest.mark.parametrize("start", range(0, ANSWERS, AT_ONCE * 4))
def test_no_mutated_answer_is_accepted_on_an_http_error(start: int) -> None:
    for seed in range(start, start + AT_ONCE):
        body, _ = answer(seed)
        status = random.Random(seed).choice([302, 400, 401, 404, 429, 500, 502, 503, 504])
        assert isinstance(judge_submission(HttpAnswer(status, body), BATCH), FAILURES), seed


@pytest.mark.parametrize("start", range(0, ANSWERS, AT_ONCE * 4))
def test_no_listener_to_a_mutated_answer_gets_the_card_number(start: int) -> None:
    for seed in range(start, start + AT_ONCE):
        body, _ = answer(seed)
        assert CARD not in describe(HttpAnswer(200, body), {CARD}), seed


def test_the_unmutated_receipts_are_accepted() -> None:
    assert all(isinstance(judge_submission(HttpAnswer(200, body), BATCH), Accepted) for body in RECEIPTS)


def test_the_mutations_reach_every_part() -> None:
    """A fuzz that only ever makes noise proves nothing."""
    outcomes = [judge_submission(HttpAnswer(200, answer(seed)[0]), BATCH) for seed in range(2_000)]
    codes = {outcome.code for outcome in outcomes if not isinstance(outcome, Accepted)}
    assert sum(isinstance(outcome, Accepted) for outcome in outcomes) > 20
    assert {
        "NET:TRUNCATED",
        "NET:NOT_TISS",
        "NET:ENCODING",
        "NET:UNSAFE_XML",
        "NET:ANSWER_HASH",
        "NET:OTHER_BATCH",
        "FAULT:LoginInvalido",
        "TISS:1001",
        "SOAP:Server",
    } <= codes
