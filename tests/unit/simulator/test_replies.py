"""The simulated payer writes the sample answers byte for byte, and valid ones in every version."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gateways.practice.simulator import replies
from gateways.practice.simulator.ledger import TAKEN, LedgerEntry
from gateways.practice.simulator.replies import Card, GlosaOn, ReplyContext
from gateways.tiss.glosas import tabela38
from gateways.tiss.names import FaultWord, Version
from gateways.tiss.parties import Payer
from gateways.tiss.validation import Schemas
from tests.support.tiss_samples import CARD, PAYER, PROVIDER, message_in, sample

AT = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
HEAD = ReplyContext(Payer(PAYER), PROVIDER, Version.V4_03_00, AT)
ENTRY = LedgerEntry(AT, PAYER, "loteGuiasWS", TAKEN, "200000000001", "900000000001", ("GP-0001",))
CARDS = (Card("GP-0001", CARD),)
SCHEMAS = Schemas()


def test_the_sample_receipt_is_reproduced() -> None:
    assert replies.receipt(HEAD, ENTRY, CARDS) == sample("response_protocoloRecebimento")


@pytest.mark.parametrize("name", ["1001_carteira", "3160_timeout", "3268_duplicado"])
def test_the_sample_refusals_are_reproduced(name: str) -> None:
    assert replies.refusal(HEAD, name[:4]) == sample(f"response_mensagemErro_{name}")


@pytest.mark.parametrize(
    "word", [FaultWord.SERVER_ERROR, FaultWord.WRONG_HASH, FaultWord.WRONG_LOGIN, FaultWord.WRONG_SCHEMA]
)
def test_the_sample_faults_are_reproduced(word: FaultWord) -> None:
    assert replies.fault(word) == sample(f"fault_{word}")


def test_the_sample_status_is_reproduced() -> None:
    assert replies.status(HEAD, ENTRY, 1, CARDS) == sample("response_situacaoProtocoloWS")


@pytest.mark.parametrize("version", Version)
def test_every_answer_is_valid_in_every_version(version: Version) -> None:
    head = replace(HEAD, version=version)
    answers = [
        replies.receipt(head, ENTRY, CARDS),
        replies.receipt(head, ENTRY, CARDS, GlosaOn("protocol", "1801")),
        replies.receipt(head, ENTRY, CARDS, GlosaOn("guide", "1801")),
        replies.refusal(head, "1001"),
        replies.status(head, ENTRY, 9, CARDS),
        replies.status_refusal(head, "3162"),
        replies.cancellation(head, "200000000001", 6),
        *(replies.fault(word, bare=True) for word in FaultWord),
    ]
    for answer in answers:
        assert SCHEMAS.violations(message_in(answer), version) == ()


def test_every_code_of_the_table_can_be_said_in_the_payers_encoding() -> None:
    for code in tabela38():
        assert code.encode() in replies.refusal(HEAD, code)
