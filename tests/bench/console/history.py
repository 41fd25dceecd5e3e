"""Two months of claims, most of them over: what the console's pages look through, made by counting up."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Table

from domain.catalog import Team
from domain.claim_state import ClaimState
from persistence.tables import (
    audit_events,
    claim_events,
    claims,
    first_rounds,
    payer_waits,
    retry_decisions,
    reviews,
    submission_attempts,
)

PAYERS = [f"operadora-{number:02d}" for number in range(12)]
SPAN = timedelta(days=60)
RETRIES = 5
CAUSES = (
    ("TISS:1001", "INVALID_PATIENT_DATA", Team.REGISTRATION),
    ("TISS:1801", "INVALID_PROCEDURE_CODE", Team.BILLING_MANAGEMENT),
    ("HTTP:504", "TIMEOUT", Team.BILLING_MANAGEMENT),
    ("TISS:5001", "MESSAGE_INVALID", Team.OPERATIONS),
)
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class HistorySize:
    """How much there is, and when it ends."""

    claims: int
    decisions: int
    now: datetime

    def claim(self, number: int) -> "PastClaim":
        """One of them; the last is of now."""
        each, more = divmod(self.decisions, self.claims)
        at = self.now - SPAN * (self.claims - number) / self.claims
        return PastClaim(number, at, each + (number < more), self.now)


@dataclass(frozen=True, slots=True)
class PastClaim:
    """A claim by its number: three in a hundred are in review, two wait, one was given up."""

    number: int
    at: datetime
    decisions: int
    now: datetime

    @property
    def claim_id(self) -> str:
        return f"CLM-302147-PREST0001-{self.number:08d}"

    @property
    def payer(self) -> str:
        return PAYERS[self.number % len(PAYERS)]

    @property
    def state(self) -> ClaimState:
        by_hundred = {7: ClaimState.WAITING, 41: ClaimState.WAITING, 77: ClaimState.CANCELLED}
        in_review = self.number % 100 in (13, 37, 59)
        return by_hundred.get(self.number % 100, ClaimState.IN_REVIEW if in_review else ClaimState.ACCEPTED)

    @property
    def cause(self) -> tuple[str, str, Team]:
        return CAUSES[self.number // 100 % len(CAUSES)]

    @property
    def is_held(self) -> bool:
        return self.number % 100 == 41

    def rows(self) -> Iterator[tuple[Table, Row]]:
        """All that is kept of it."""
        yield claims, self._claim()
        for count in range(self.decisions):
            yield retry_decisions, self._decision(count)
        for send in range(1, min(self.decisions, 3) + 1):
            yield submission_attempts, self._send(send)
        for event in ("received", "submission_failed", "retry_scheduled"):
            yield (
                claim_events,
                {"claim_id": self.claim_id, "at": self.at, "event": event, "detail": "made up"},
            )
        yield audit_events, self._audited()
        yield first_rounds, self._first_round()
        if self.state is ClaimState.IN_REVIEW:
            yield reviews, self._review()
        if self.is_held:
            yield payer_waits, self._wait()

    def _claim(self) -> Row:
        waits = self.state is ClaimState.WAITING
        due = self.now + timedelta(minutes=self.number % 700) if waits else None
        return {
            "claim_id": self.claim_id, "payer_id": self.payer, "state": self.state.value, "retry_count": 3,
            "next_retry_time": due, "batch_number": str(self.number), "content_hash": "x", "guides_of": "x",
            "protocol_number": f"9{self.number:09d}" if self.state is ClaimState.ACCEPTED else None,
            "reason": "PERMANENT_ERROR" if self.state is ClaimState.IN_REVIEW else None,
            "deadline": self.now + timedelta(hours=self.number % 96), "created_at": self.at,
            "updated_at": self.at + timedelta(hours=1),
        }  # fmt: skip

    def _decision(self, count: int) -> Row:
        code, category, _ = self.cause
        return {
            "claim_id": self.claim_id, "retry_count": count % RETRIES, "process_instance_key": 1,
            "round": count // RETRIES, "job_key": self.number * 20 + count, "attempt_number": count + 1,
            "submission_error": f"recusa ({code})", "error_classification": "PERMANENT",
            "error_category": category, "max_retries": RETRIES, "backoff_minutes": 5,
            "should_retry": count + 1 < self.decisions, "retry_reason": "made up", "policy_version": "1",
            "decided_at": self.at + timedelta(minutes=7 * count), "audit_sequence": count, "result": {},
        }  # fmt: skip

    def _send(self, send: int) -> Row:
        outcome = "ACCEPTED" if send == 3 and self.state is ClaimState.ACCEPTED else "FAILED"
        started = self.at + timedelta(minutes=7 * send)
        return {
            "claim_id": self.claim_id, "attempt": send, "job_key": self.number * 20 + send,
            "started_at": started, "finished_at": started, "outcome": outcome,
        }  # fmt: skip

    def _audited(self) -> Row:
        return {
            "claim_id": self.claim_id, "sequence": 0, "event": "received", "at": self.at,
            "job_key": self.number, "data": "{}", "previous_hash": "0" * 64, "hash": "0" * 64,
        }  # fmt: skip

    def _first_round(self) -> Row:
        taken = self.state is ClaimState.ACCEPTED
        return {
            "claim_id": self.claim_id, "payer_id": self.payer, "first_failed_at": self.at, "is_retried": True,
            "given_up": None if taken else "RETRIES", "given_up_at": None if taken else self.at,
            "accepted_at": self.at if taken else None, "retries_sent": 2 if taken else None,
            "since_failure_us": 10**9 if taken else None, "since_send_us": 10**9 if taken else None,
        }  # fmt: skip

    def _review(self) -> Row:
        team = self.cause[2].value
        return {
            "claim_id": self.claim_id, "job_key": self.number, "round": 0, "reason": "PERMANENT_ERROR",
            "opened_at": self.at, "team": team,
        }  # fmt: skip

    def _wait(self) -> Row:
        until = self.now + timedelta(hours=2)
        return {"claim_id": self.claim_id, "payer_id": self.payer, "since": self.at, "until": until}
