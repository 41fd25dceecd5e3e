"""What is kept of a send gives the answer again that the process was told."""

import json
from typing import get_args

import pytest

from domain.submission import (
    Accepted,
    AccessDenied,
    AnswerLost,
    ArrivalUnknown,
    Failed,
    Glosa,
    ProtocolMissing,
    Settled,
    Submission,
)
from tests.support.builders import NOW
from tests.support.patients import ERROR, SECRETS
from workers.jobs.send_result import access_denied, facts_of, report, stored_answer
from workers.runtime import Complete, Throw
from workers.runtime.outcome import to_json

SENT = Submission("CLM-001-1", "p", 1)
GLOSAS = (Glosa("guide", "1801", "PROCEDIMENTO INVÁLIDO", "GP-0001"),)
CUT_MIDWAY = f"TIMEOUT - paciente: {'x ' * 9}\nnome: Maria da Silva\nobservação: {ERROR * 30}"
FINISHED: tuple[Settled, ...] = (
    Accepted("P-1"),
    Accepted("P-1", GLOSAS, "450.00"),
    ProtocolMissing(),
    ArrivalUnknown(f"DUPLICATE_CLAIM - guide 52998224725; {ERROR}", "TISS:1308"),
    Failed("TIMEOUT - no answer", "HTTP:503"),
    Failed(CUT_MIDWAY, refused=True),
    AnswerLost(ERROR, "NET:RESET", payer_down=True),
    AnswerLost("SERVER_ERROR - damaged", "NET:ANSWER_HASH", claimed_protocol="900000000007"),
)


@pytest.mark.parametrize("settled", FINISHED, ids=repr)
def test_the_facts_of_a_send_give_the_answer_that_was_told(settled: Settled) -> None:
    facts = facts_of(settled)
    assert facts is not None
    assert stored_answer(json.loads(json.dumps(facts)), NOW) == report(SENT, settled, NOW)


@pytest.mark.parametrize("settled", FINISHED, ids=repr)
def test_the_facts_hold_neither_persons_nor_the_answer_itself(settled: Settled) -> None:
    facts = facts_of(settled)
    assert facts is not None
    assert not {"complete", "throw", "variables", "message"} & set(facts)
    assert [secret for secret in SECRETS if secret in json.dumps(facts, ensure_ascii=False)] == []


def test_the_facts_are_plain_names_and_values() -> None:
    assert facts_of(Accepted("P-1")) == {"protocolNumber": "P-1"}
    assert facts_of(Accepted("P-1", GLOSAS, "450.00")) == {
        "protocolNumber": "P-1",
        "total": "450.00",
        "glosas": [{"level": "guide", "code": "1801", "guide": "GP-0001"}],
    }
    assert facts_of(Failed("TIMEOUT", "HTTP:503")) == {"error": "TIMEOUT", "code": "HTTP:503"}
    lost = AnswerLost("TIMEOUT", claimed_protocol="9")
    assert facts_of(lost) == {"error": "TIMEOUT", "code": None, "claimedProtocol": "9"}


def test_after_refused_credentials_nothing_is_kept_so_that_the_job_is_done_anew() -> None:
    assert facts_of(AccessDenied("UNAUTHORIZED", "HTTP:401")) is None


@pytest.mark.parametrize(
    "answer",
    [
        Complete({"protocolNumber": "P-1"}),
        Complete({"protocolNumber": None}),
        Throw("SUBMISSION_FAILED", "TIMEOUT", {"submissionError": "TIMEOUT", "submissionErrorCode": None}),
        Throw("PAYER_UNAVAILABLE", "planned", {"resumeAt": "2026-01-12T12:00:00Z"}),
    ],
)
def test_a_row_of_an_earlier_version_is_answered_as_it_stands(answer: Complete | Throw) -> None:
    beside = {"claimedProtocol": "9", "total": "450.00", "glosas": []}
    assert stored_answer(to_json(answer) | beside, NOW) == answer


def test_the_names_under_which_sends_are_kept_stay_what_they_were() -> None:
    assert {kind: kind.stored_as for kind in get_args(Settled)} == {
        Accepted: "ACCEPTED",
        ProtocolMissing: "PROTOCOL_MISSING",
        ArrivalUnknown: "ARRIVAL_UNKNOWN",
        Failed: "FAILED",
        AnswerLost: "ANSWER_LOST",
        AccessDenied: "ACCESS_DENIED",
    }


def test_refused_credentials_ask_to_restart_every_worker_before_the_payer_is_resumed() -> None:
    said = access_denied("302147", "HTTP:401").message
    steps = ("Restart every worker with the corrected credentials", "payer resume", "claim resolve")
    assert sorted(steps, key=said.index) == list(steps)
