"""The sample claims of the demo: who they are, how their payer treats them, how they must end."""

from collections.abc import Sequence
from dataclasses import dataclass

from bpmn.names import ReviewDecision
from domain.claim_state import ClaimState
from gateways.practice.simulator.scenario import Behaviour, FaultAnswer, Garbage, Http, LoseAnswer, Refuse
from gateways.tiss.names import FaultWord

NORTH, SOUTH, COAST, HILLS = "operadora-norte", "operadora-sul", "operadora-litoral", "operadora-serra"
TIME_OUT, BUSY = Refuse(code="3160"), Refuse(code="1412")
SENDS_BEFORE_A_PERSON = 6


@dataclass(frozen=True, slots=True)
class Sample:
    """A claim, its fate in words, the payer's answers in order, and the state it must end in.

    After its answers the payer takes the batch, or says that it has it; a `late` claim comes in after
    the others have been sent.
    """

    claim_id: str
    payer_id: str
    fate: str
    ends: ClaimState
    answers: tuple[Behaviour, ...] = ()
    person: ReviewDecision | None = None
    cancelled: bool = False
    woken: bool = False
    late: bool = False

    @property
    def batch(self) -> str:
        """The number of its batch."""
        return self.claim_id.rpartition("-")[2]


def samples() -> Sequence[Sample]:
    """All sample claims."""
    return (
        *_straight_through(),
        *_transient_then_success(),
        *_through_an_outage(),
        *_not_for_retries(),
        *_answers_lost(),
        *_with_a_person(),
        _maintenance(),
    )


def _straight_through() -> list[Sample]:
    return [
        Sample(f"CLM-DEMO-{number}", NORTH, "straight through", ClaimState.ACCEPTED)
        for number in range(1001, 1005)
    ]


def _transient_then_success() -> list[Sample]:
    gateway = Http(status=504)
    limited = Http(status=429, body="empty")
    failing = FaultAnswer(word=FaultWord.SERVER_ERROR)
    fates: list[tuple[str, tuple[Behaviour, ...]]] = [
        ("time-out once (HTTP 504)", (gateway,)),
        ("time-out, then rate limit", (gateway, limited)),
        ("TISS 3160 TIME OUT twice", (TIME_OUT, TIME_OUT)),
        ("payer's system fails once", (failing,)),
    ]
    return [
        Sample(f"CLM-DEMO-{number}", NORTH, fate, ClaimState.ACCEPTED, answers, woken=len(answers) > 1)
        for number, (fate, answers) in enumerate(fates, start=2001)
    ]


def _through_an_outage() -> list[Sample]:
    first = [
        Sample(f"CLM-DEMO-{number}", SOUTH, "meets an outage", ClaimState.ACCEPTED) for number in (3001, 3002)
    ]
    held = [
        Sample(f"CLM-DEMO-{number}", SOUTH, "held during the outage", ClaimState.ACCEPTED, late=True)
        for number in range(3003, 3008)
    ]
    return first + held


def _not_for_retries() -> list[Sample]:
    procedure, busy = (Refuse(code="1801"),), (BUSY,) * SENDS_BEFORE_A_PERSON
    return [
        Sample("CLM-DEMO-4001", COAST, "bad procedure code", ClaimState.IN_REVIEW, procedure),
        Sample("CLM-DEMO-4002", COAST, "never processed: 5 retries", ClaimState.IN_REVIEW, busy),
    ]


def _answers_lost() -> list[Sample]:
    lost, cut = (LoseAnswer(how="reset"),), (Garbage(kind="cut"),)
    found = ReviewDecision.PROTOCOL_RECOVERED
    return [
        Sample("CLM-DEMO-5001", NORTH, "answer lost: the payer has it", ClaimState.IN_REVIEW, lost),
        Sample("CLM-DEMO-5002", NORTH, "answer cut off, protocol found", ClaimState.ACCEPTED, cut, found),
    ]


def _with_a_person() -> list[Sample]:
    card, expired, down = (Refuse(code="1001"),), (Refuse(code="1017"),), (BUSY,)
    corrected, written_off = ReviewDecision.CORRECTED, ReviewDecision.WRITE_OFF
    return [
        Sample("CLM-DEMO-6001", COAST, "bad card number, corrected", ClaimState.ACCEPTED, card, corrected),
        Sample(
            "CLM-DEMO-6002", COAST, "card expired, written off", ClaimState.WRITTEN_OFF, expired, written_off
        ),
        Sample(
            "CLM-DEMO-6003", COAST, "cancelled while it waits", ClaimState.CANCELLED, down, cancelled=True
        ),
    ]


def _maintenance() -> Sample:
    return Sample("CLM-DEMO-7001", HILLS, "planned maintenance", ClaimState.ACCEPTED)
