"""What our work tells is counted under the documents' names: each rule's under its own."""

from dataclasses import replace
from datetime import timedelta

import pytest
from opentelemetry.sdk.resources import Resource

from domain.catalog import Category, Team, catalog_of
from domain.decision import Decision
from domain.observations import (
    ClaimSent,
    DecisionMade,
    IncidentElsewhere,
    InputRejected,
    LetterMovedIn,
    MailAttempted,
    MailFate,
    OperationRepeated,
    StandstillHealed,
)
from domain.policy import Shape
from domain.standing import StandingKind
from domain.submission import Accepted
from tests.support.builders import draft
from tests.support.scraped import Scrape, read_scrape
from workers.app.telemetry.business import RETRIED, BusinessMetrics, Known, KnownNames, begin_counters
from workers.app.telemetry.label_names import LabelNames
from workers.app.telemetry.metrics import ProcessMetrics

MAIL = MailAttempted("id", "company-1", "1", 2, 5, MailFate.SENT, 0.2)

PERSON = "Maria.da.Silva_1975-03-02"


class Counted:
    """Tells observations, and reads what was made of them."""

    def __init__(self) -> None:
        self.metrics = ProcessMetrics(Resource.create())
        self.names = KnownNames(LabelNames(["payer-1"]), LabelNames(["company-1"]))
        self.tell = BusinessMetrics(self.metrics, self.names).count

    @property
    def scrape(self) -> Scrape:
        return read_scrape(self.metrics.exposition().decode())


@pytest.fixture
def counted() -> Counted:
    return Counted()


def decision(count: int = 0, error: str = "TIMEOUT") -> Decision:
    return draft("CLM-1-1", count=count, error=error).decision


def made(rule: str, of: Decision, **changes: object) -> DecisionMade:
    """A decision under the rule's own profile, or under one of somebody's that follows it."""
    [shape] = [one for one in Shape if one.rule == rule]
    return replace(DecisionMade(of, rule, shape, "payer-1", 1, 2, 0.004), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", Shape)
def test_a_decision_names_no_payer_that_settings_do_not_know(counted: Counted, shape: Shape) -> None:
    rule, retried = shape.rule, RETRIED[shape]
    for payer_id in (PERSON, "practice-1", "payer-1"):
        counted.tell(made(rule, decision(), payer_id=payer_id))
    found = counted.scrape
    assert PERSON not in counted.metrics.exposition().decode()
    assert found.value(retried, classification="TRANSIENT", payer="other") == 2
    assert found.value(retried, classification="TRANSIENT", payer="payer-1") == 1


def test_a_send_names_no_payer_that_settings_do_not_know_and_takes_no_place(counted: Counted) -> None:
    for payer_id in (PERSON, "practice-1", "payer-1"):
        counted.tell(ClaimSent("CLM-1-1", payer_id, 1, Accepted("P-1"), 0.3, 1, 2))
    found = counted.scrape
    assert PERSON not in counted.metrics.exposition().decode()
    assert found.value("reenvio_sends_total", payer="other", result="ACCEPTED") == 2
    assert found.value("reenvio_sends_total", payer="payer-1", result="ACCEPTED") == 1
    assert found.value("reenvio_send_duration_seconds_count", payer="other") == 2
    assert counted.names.payers.named() == ("payer-1",)


@pytest.mark.parametrize("profile", [None, "OWN"])
@pytest.mark.parametrize(
    ("rule", "retried", "waits"),
    [
        ("RN-BIL-004", "submission_retry_total", "submission_retry_backoff_minutes"),
        ("RN-BIL-005", "retry_scheduled_total", "backoff_duration_minutes"),
    ],
)
def test_a_retry_counts_under_the_rule_that_its_profile_follows_alone(
    counted: Counted, rule: str, retried: str, waits: str, profile: str | None
) -> None:
    counted.tell(made(rule, decision(), profile=profile or rule))
    found = counted.scrape
    assert found.value(retried, classification="TRANSIENT", payer="payer-1") == 1
    assert 5 <= (found.value(f"{waits}_sum") or 0) <= 6
    others = {"submission_retry_total", "retry_scheduled_total"} - {retried}
    assert [found.of(name) for name in others] == [{}]
    assert found.value("reenvio_decisions_total", rule=rule, outcome="retry") == 1
    assert found.value("retry_analysis_duration_seconds_sum", rule=rule) == pytest.approx(0.004)


@pytest.mark.parametrize(
    ("rule", "name"),
    [("RN-BIL-004", "submission_retry_max_exceeded"), ("RN-BIL-005", "max_retries_exceeded_total")],
)
def test_spent_retries_count_under_their_rule_and_cause(counted: Counted, rule: str, name: str) -> None:
    counted.tell(made(rule, decision(count=5)))
    assert counted.scrape.value(name, cause="RETRIES") == 1
    assert counted.scrape.value("reenvio_decisions_total", rule=rule, outcome="exhausted") == 1


@pytest.mark.parametrize("rule", ["RN-BIL-004", "RN-BIL-005"])
def test_a_claim_is_counted_at_its_first_failure_alone(counted: Counted, rule: str) -> None:
    for count in range(6):
        counted.tell(made(rule, decision(count=count)))
    counted.tell(made(rule, decision(error="INVALID_PATIENT_DATA")))
    assert counted.scrape.of("reenvio_claims_failed_total") == {frozenset({("rule", rule)}): 2}


def test_a_permanent_error_names_its_category_and_its_team(counted: Counted) -> None:
    counted.tell(made("RN-BIL-005", decision(error="INVALID_PATIENT_DATA")))
    found = counted.scrape
    labels = {"category": "INVALID_PATIENT_DATA", "team": "REGISTRATION"}
    assert found.value("permanent_errors_total", **labels) == 1
    counted.tell(made("RN-BIL-004", decision(error="INVALID_PATIENT_DATA")))
    assert counted.scrape.value("permanent_errors_total", **labels) == 1
    of_004 = {"classification": "PERMANENT", "category": "INVALID_PATIENT_DATA", "rule": "RN-BIL-004"}
    assert counted.scrape.value("error_classification_distribution", **of_004) == 1


def test_a_wait_at_its_maximum_is_counted_apart(counted: Counted) -> None:
    counted.tell(made("RN-BIL-004", decision(), is_at_maximum=True))
    counted.tell(made("RN-BIL-004", decision()))
    assert counted.scrape.value("reenvio_backoff_at_maximum_total", rule="RN-BIL-004") == 1


def test_what_a_profile_of_ones_own_gives_up_counts_under_the_rule_that_it_follows(counted: Counted) -> None:
    counted.tell(made("RN-BIL-004", decision(count=5), profile="OWN"))
    counted.tell(made("RN-BIL-005", decision(count=5), profile="OWN"))
    counted.tell(made("RN-BIL-005", decision(error="INVALID_PATIENT_DATA"), profile="OWN"))
    found = counted.scrape
    assert found.value("submission_retry_max_exceeded", cause="RETRIES") == 1
    assert found.value("max_retries_exceeded_total", cause="RETRIES") == 1
    assert found.value("permanent_errors_total", category="INVALID_PATIENT_DATA", team="REGISTRATION") == 1
    assert "OWN" not in str(found.samples)


def test_an_attempt_at_mail_counts_by_number_fate_and_company(counted: Counted) -> None:
    counted.tell(MAIL)
    counted.tell(replace(MAIL, fate=MailFate.WAITS, wait=timedelta(seconds=2.5)))
    found = counted.scrape
    assert found.value("retry_attempts_total", attempt="2") == 2
    assert found.value("tenant_jobs_processed", company="company-1") == 2
    assert found.value("reenvio_mails_total", fate="sent") == 1
    assert found.value("retry_backoff_delay_seconds_sum") == 2.5
    assert found.value("retry_backoff_delay_seconds_count") == 1
    assert found.value("reenvio_mail_duration_seconds_sum") == pytest.approx(0.4)
    assert found.of("dlq_entries_total") == {}


def test_a_mail_whose_time_was_over_counts_by_its_fate_and_letter_and_as_no_attempt(counted: Counted) -> None:
    counted.tell(replace(MAIL, fate=MailFate.DIED, code="EXPIRED", seconds=None, is_made=False))
    found = counted.scrape
    assert found.value("reenvio_mails_total", fate="died") == 1
    assert found.value("dlq_by_error_code", code="EXPIRED") == 1
    assert found.value("reenvio_mail_failures_total", code="EXPIRED", fate="died") == 1
    for name in ("retry_attempts_total", "tenant_jobs_processed", "reenvio_mail_duration_seconds_count"):
        assert found.of(name) == {}


def test_failures_of_mail_count_by_code_and_fate_and_codes_are_bounded(counted: Counted) -> None:
    counted.tell(MAIL)
    counted.tell(replace(MAIL, fate=MailFate.WAITS, code="421"))
    counted.tell(replace(MAIL, fate=MailFate.DIED, code="421"))
    for number in range(100):
        counted.tell(replace(MAIL, fate=MailFate.WAITS, code=f"Odd-{number}"))
    found = counted.scrape
    assert found.value("reenvio_mail_failures_total", code="421", fate="waits") == 1
    assert found.value("reenvio_mail_failures_total", code="421", fate="died") == 1
    assert (found.value("reenvio_mail_failures_total", code="other", fate="waits") or 0) > 50
    assert len(found.of("reenvio_mail_failures_total")) < 60


def test_a_dead_letter_counts_once_when_it_comes_to_lie_there(counted: Counted) -> None:
    died = replace(MAIL, fate=MailFate.DIED, code="550")
    counted.tell(died)
    counted.tell(replace(died, came_back=True))
    counted.tell(replace(died, is_buried=False))
    assert counted.scrape.value("dlq_entries_total") == 1
    counted.tell(LetterMovedIn("company-1", "550"))
    found = counted.scrape
    assert found.value("dlq_entries_total") == 2
    assert found.value("dlq_by_error_code", code="550") == 2
    assert found.value("dlq_by_company", company="company-1") == 2
    assert found.value("reenvio_mails_total", fate="died") == 3


def test_sends_rejections_and_repetitions_are_counted(counted: Counted) -> None:
    counted.tell(ClaimSent("CLM-1-1", "payer-1", 1, Accepted("P-1"), 0.3, 1, 2))
    counted.tell(InputRejected("RN-BIL-004", "BIL-004-V5", "CLM-1-1", 1, 2))
    counted.tell(OperationRepeated("submit_claim"))
    found = counted.scrape
    assert found.value("reenvio_sends_total", payer="payer-1", result="ACCEPTED") == 1
    assert found.value("reenvio_send_duration_seconds_sum", payer="payer-1") == 0.3
    assert found.value("reenvio_input_rejected_total", rule="BIL-004-V5") == 1
    assert found.value("reenvio_idempotency_hits_total", operation="submit_claim") == 1
    assert "CLM-1-1" not in str(found.samples)


def test_incidents_of_no_claim_and_what_was_healed_count_by_their_kind(counted: Counted) -> None:
    for job_type in ("analyze-retry", "send-email-7", "of-nobody"):
        counted.tell(IncidentElsewhere(job_type))
    kind = next(iter(StandingKind))
    counted.tell(StandstillHealed(kind))
    incidents = counted.scrape.of("reenvio_incidents_elsewhere_total")
    assert incidents == {frozenset({("type", of)}): 1 for of in ("analyze-retry", "send-email", "other")}
    assert counted.scrape.value("reenvio_standing_healed_total", kind=kind) == 1


def test_counters_begin_at_zero_where_their_labels_are_known(counted: Counted) -> None:
    catalog = catalog_of(
        [Category("BAD", permanent=True, team=Team.OPERATIONS), Category("SLOW", permanent=False)]
    )
    begin_counters(counted.metrics, Known(counted.names, catalog, ("submit_claim",), 5))
    found = counted.scrape
    assert found.value("submission_retry_total", classification="UNKNOWN", payer="payer-1") == 0
    assert found.value("permanent_errors_total", category="BAD", team="OPERATIONS") == 0
    assert found.value("retry_attempts_total", attempt="5") == 0
    assert found.value("dlq_entries_total") == 0
    assert found.value("reenvio_mail_failures_total", code="421", fate="waits") == 0
    assert set(found.of("submission_retry_max_exceeded").values()) == {0}
    counted.tell(made("RN-BIL-004", decision()))
    assert counted.scrape.value("submission_retry_total", classification="TRANSIENT", payer="payer-1") == 1


def test_distributions_begin_without_a_case_where_their_labels_are_known(counted: Counted) -> None:
    begin_counters(counted.metrics, Known(counted.names, catalog_of([]), ("submit_claim",), 5))
    before = counted.scrape
    counted.tell(made("RN-BIL-004", decision()))
    counted.tell(ClaimSent("CLM-1-1", "payer-1", 1, Accepted("P-1"), 0.3, 1, 2))
    after = counted.scrape
    for name, labels in (
        ("submission_retry_backoff_minutes", {}),
        ("retry_analysis_duration_seconds", {"rule": "RN-BIL-004"}),
        ("reenvio_send_duration_seconds", {"payer": "payer-1"}),
    ):
        assert before.value(f"{name}_count", **labels) == 0
        assert before.value(f"{name}_sum", **labels) == 0
        assert after.value(f"{name}_count", **labels) == 1
        assert set(before.of(f"{name}_bucket")) == set(after.of(f"{name}_bucket"))
        assert set(before.of(f"{name}_count")) == set(after.of(f"{name}_count"))
