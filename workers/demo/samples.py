"""The sample claims of the demo: who they are, how their payer treats them, how they must end."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bpmn.names import ReviewDecision
from domain.claim_state import ClaimState
from gateways.payer.scripted import (
    Accept,
    Answer,
    Closed,
    LoseAnswer,
    Outage,
    Refuse,
    SayDuplicate,
    Script,
)

NORTH, SOUTH, COAST = "operadora-norte", "operadora-sul", "operadora-litoral"
OUTAGE = timedelta(minutes=100)
MAINTENANCE = timedelta(minutes=45)


@dataclass(frozen=True, slots=True)
class Sample:
    """A claim, its fate in words, the payer's answers in order, and the state it must end in."""

    claim_id: str
    payer_id: str
    fate: str
    ends: ClaimState
    answers: tuple[Answer, ...] = ()
    person: ReviewDecision | None = None
    cancelled: bool = False
    woken: bool = False


def samples(start: datetime) -> Sequence[Sample]:
    """The cast, for a demo that starts at a moment."""
    return (
        *_straight_through(),
        *_transient_then_success(),
        *_through_an_outage(),
        *_not_for_retries(),
        *_answers_lost(),
        *_with_a_person(),
        _maintenance(start),
    )


def script(cast: Sequence[Sample], start: datetime) -> Script:
    """What the payers will answer."""
    return Script(
        outages=(Outage(payer=SOUTH, start=start, end=start + OUTAGE),),
        answers={sample.claim_id: sample.answers for sample in cast if sample.answers},
    )


def _straight_through() -> list[Sample]:
    return [
        Sample(f"CLM-DEMO-{number:04d}", NORTH, "straight through", ClaimState.ACCEPTED)
        for number in range(1001, 1006)
    ]


def _transient_then_success() -> list[Sample]:
    timeout = Refuse(error="TIMEOUT - Connection timeout after 30s")
    limited = Refuse(error="RATE_LIMIT - too many requests", code="HTTP:429")
    unknown = Refuse(error="the proxy is in a strange mood")
    fates: list[tuple[str, tuple[Answer, ...]]] = [
        ("time-out once", (timeout, Accept())),
        ("time-out, then rate limit", (timeout, limited, Accept())),
        (
            "TISS 3160 TIME OUT twice",
            (Refuse(error="TIME OUT - TENTE NOVAMENTE", code="TISS:3160"),) * 2 + (Accept(),),
        ),
        ("unknown error, retried for safety", (unknown, Accept())),
    ]
    return [
        Sample(f"CLM-DEMO-{number}", NORTH, fate, ClaimState.ACCEPTED, answers)
        for number, (fate, answers) in enumerate(fates, start=2001)
    ]


def _through_an_outage() -> list[Sample]:
    fate = f"payer down for {OUTAGE.seconds // 60} min"
    return [
        Sample(f"CLM-DEMO-{number}", SOUTH, fate, ClaimState.ACCEPTED, woken=number == 3003)
        for number in range(3001, 3004)
    ]


def _not_for_retries() -> list[Sample]:
    procedure = Refuse(error="INVALID_PROCEDURE_CODE - unknown code", code="TISS:1801")
    always_down = Refuse(error="SERVICE_UNAVAILABLE", code="HTTP:503")
    return [
        Sample("CLM-DEMO-4001", COAST, "bad procedure code", ClaimState.IN_REVIEW, (procedure,)),
        Sample("CLM-DEMO-4002", COAST, "down for ever: 5 retries", ClaimState.IN_REVIEW, (always_down,)),
        Sample("CLM-DEMO-4003", COAST, "down for ever: 5 retries", ClaimState.IN_REVIEW, (always_down,)),
    ]


def _answers_lost() -> list[Sample]:
    answers = (LoseAnswer(), SayDuplicate())
    found = ReviewDecision.PROTOCOL_RECOVERED
    return [
        Sample("CLM-DEMO-5001", NORTH, "answer lost: the payer has it", ClaimState.IN_REVIEW, answers),
        Sample("CLM-DEMO-5002", NORTH, "answer lost, protocol found", ClaimState.ACCEPTED, answers, found),
    ]


def _with_a_person() -> list[Sample]:
    patient = Refuse(error="INVALID_PATIENT_DATA", code="TISS:1001")
    down = Refuse(error="CONNECTION_ERROR - refused")
    return [
        Sample(
            "CLM-DEMO-6001",
            COAST,
            "bad patient data, corrected",
            ClaimState.ACCEPTED,
            (patient, Accept()),
            ReviewDecision.CORRECTED,
        ),
        Sample(
            "CLM-DEMO-6002",
            COAST,
            "insurance expired, written off",
            ClaimState.WRITTEN_OFF,
            (Refuse(error="INSURANCE_EXPIRED"),),
            ReviewDecision.WRITE_OFF,
        ),
        Sample(
            "CLM-DEMO-6003", COAST, "cancelled while it waits", ClaimState.CANCELLED, (down,), cancelled=True
        ),
    ]


def _maintenance(start: datetime) -> Sample:
    closed = Closed(until=start + MAINTENANCE)
    fate = f"maintenance for {MAINTENANCE.seconds // 60} min, no attempt spent"
    return Sample("CLM-DEMO-7001", NORTH, fate, ClaimState.ACCEPTED, (closed, Accept()))
