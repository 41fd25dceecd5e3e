"""Counts what our work tells: decisions, sends, mail; under the rules' names and our own."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import product
from typing import Any

from bpmn.names import JobType
from domain.catalog import Catalog, ErrorClassification, Team
from domain.decision import Cause, Exhausted, Permanent, Retry
from domain.mail.codes import PERMANENT, RETRYABLE
from domain.observations import (
    ClaimSent,
    DecisionMade,
    IncidentElsewhere,
    InputRejected,
    LetterMovedIn,
    MailAttempted,
    MailFate,
    Observation,
    OperationRepeated,
    StandstillHealed,
)
from domain.policy import RULE_OF, Shape
from domain.standing import StandingKind
from domain.submission import Settled
from workers.app.telemetry.companies import COUNTED_BY_COMPANY
from workers.app.telemetry.label_names import NOBODY, LabelNames, type_label
from workers.app.telemetry.metrics import ProcessMetrics
from workers.app.telemetry.table import OTHER

RULES = tuple(RULE_OF.values())
OUTCOMES = {Retry: "retry", Exhausted: "exhausted", Permanent: "permanent"}
MINUTE = timedelta(minutes=1)
CODES_AT_MOST = 50
RETRIED = {Shape.SUBMISSION: "submission_retry_total", Shape.ANALYSIS: "retry_scheduled_total"}
WAITED = {Shape.SUBMISSION: "submission_retry_backoff_minutes", Shape.ANALYSIS: "backoff_duration_minutes"}
GIVEN_UP = {Shape.SUBMISSION: "submission_retry_max_exceeded", Shape.ANALYSIS: "max_retries_exceeded_total"}
MAIL_CODES = (*RETRYABLE, *PERMANENT)
"""Those that the documents list, and our own; of others only as many as there is room for."""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Who has a label of his own; payers and companies of the settings come first."""

    payers: LabelNames = field(default_factory=LabelNames)
    companies: LabelNames = field(default_factory=LabelNames)
    codes: LabelNames = field(default_factory=lambda: LabelNames(MAIL_CODES, at_most=CODES_AT_MOST))


class BusinessMetrics:
    """Counts observations."""

    def __init__(self, metrics: ProcessMetrics, names: KnownNames) -> None:
        self._add = metrics.counters.add
        self._distributions = metrics.distributions
        self._names = names
        self._counted: dict[type[Observation], Callable[[Any], None]] = {
            DecisionMade: self._decision,
            InputRejected: self._rejected,
            ClaimSent: self._sent,
            OperationRepeated: self._repeated,
            MailAttempted: self._mail,
            LetterMovedIn: self._letter,
            StandstillHealed: self._healed,
            IncidentElsewhere: self._incident,
        }

    def count(self, observation: Observation) -> None:
        """Count one observation."""
        if counted := self._counted.get(type(observation)):
            counted(observation)

    def _decision(self, made: DecisionMade) -> None:
        decision, rule = made.decision, made.shape.rule
        finding = decision.finding
        self._add("reenvio_decisions_total", (rule, OUTCOMES[type(decision)]))
        self._add("error_classification_distribution", (finding.classification, finding.category, rule))
        self._distributions["retry_analysis_duration_seconds"].record(made.seconds, (rule,))
        if decision.is_of_first_failure:
            self._add("reenvio_claims_failed_total", (rule,))
        if made.is_at_maximum:
            self._add("reenvio_backoff_at_maximum_total", (rule,))
        match decision:
            case Retry():
                self._retry(made, decision)
            case Exhausted(cause=cause):
                self._add(GIVEN_UP[made.shape], (cause,))
            case Permanent(team=team) if made.shape is Shape.ANALYSIS:
                self._add("permanent_errors_total", (finding.category, team))
            case _:
                pass

    def _retry(self, made: DecisionMade, retry: Retry) -> None:
        payer = self._names.payers.known(made.payer_id)  # a variable of any process: it may say anything
        self._add(RETRIED[made.shape], (retry.classification, payer))
        self._distributions[WAITED[made.shape]].record(retry.wait / MINUTE)

    def _rejected(self, rejected: InputRejected) -> None:
        self._add("reenvio_input_rejected_total", (rejected.rule,))

    def _sent(self, sent: ClaimSent) -> None:
        payer = self._names.payers.known(sent.payer_id)  # a variable too
        self._add("reenvio_sends_total", (payer, sent.settled.stored_as))
        self._distributions["reenvio_send_duration_seconds"].record(sent.seconds, (payer,))

    def _repeated(self, repeated: OperationRepeated) -> None:
        self._add("reenvio_idempotency_hits_total", (repeated.operation,))

    def _mail(self, attempted: MailAttempted) -> None:
        if attempted.is_made:
            self._attempt(attempted)
        self._add("reenvio_mails_total", (attempted.fate,))
        if attempted.fate is not MailFate.SENT:
            code = self._names.codes.of(attempted.code)
            self._add("reenvio_mail_failures_total", (code, attempted.fate))
        if attempted.wait is not None:
            self._distributions["retry_backoff_delay_seconds"].record(attempted.wait.total_seconds())
        if attempted.fate is MailFate.DIED and attempted.is_new_letter:
            self._letter(LetterMovedIn(attempted.company_id, attempted.code))

    def _attempt(self, made: MailAttempted) -> None:
        self._add("retry_attempts_total", (str(made.attempt),))
        self._add("tenant_jobs_processed", (self._names.companies.of(made.company_id),))
        if made.seconds is not None:
            self._distributions["reenvio_mail_duration_seconds"].record(made.seconds)

    def _letter(self, letter: LetterMovedIn) -> None:
        self._add("dlq_entries_total")
        self._add("dlq_by_error_code", (self._names.codes.of(letter.code),))
        self._add("dlq_by_company", (self._names.companies.of(letter.company_id),))

    def _healed(self, healed: StandstillHealed) -> None:
        self._add("reenvio_standing_healed_total", (healed.kind,))

    def _incident(self, incident: IncidentElsewhere) -> None:
        self._add("reenvio_incidents_elsewhere_total", (type_label(incident.job_type),))


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before anything happens, for counters to begin at 0."""

    names: KnownNames
    catalog: Catalog
    operations: tuple[str, ...]
    mail_attempts: int


def begin_counters(metrics: ProcessMetrics, known: Known) -> None:
    """Show every counter whose labels are known at 0."""
    begin, names = metrics.counters.begin, known.names
    payers, companies = (*names.payers.named(), NOBODY, OTHER), (*names.companies.named(), OTHER)
    classes = [one for one in ErrorClassification if one is not ErrorClassification.PERMANENT]
    for name in RETRIED.values():
        begin(name, product(classes, payers))
    for name in GIVEN_UP.values():
        begin(name, ((cause,) for cause in Cause))
    begin("error_classification_distribution", _classified(known.catalog))
    begin("permanent_errors_total", _permanent(known.catalog))
    begin("reenvio_decisions_total", product(RULES, OUTCOMES.values()))
    for name in ("reenvio_claims_failed_total", "reenvio_backoff_at_maximum_total"):
        begin(name, ((rule,) for rule in RULES))
    begin("reenvio_idempotency_hits_total", ((operation,) for operation in known.operations))
    begin("reenvio_sends_total", product(payers, (one.stored_as for one in Settled.__args__)))
    begin("reenvio_mails_total", ((fate,) for fate in MailFate))
    begin("reenvio_mail_failures_total", product(RETRYABLE, (MailFate.WAITS, MailFate.DIED)))
    begin("reenvio_mail_failures_total", product(PERMANENT, (MailFate.DIED,)))
    begin("retry_attempts_total", ((str(number),) for number in range(1, known.mail_attempts + 1)))
    begin("dlq_entries_total", [()])
    begin("dlq_by_error_code", ((code,) for code in names.codes.named()))
    begin("reenvio_standing_healed_total", ((kind,) for kind in StandingKind))
    begin("reenvio_incidents_elsewhere_total", ((job_type.value,) for job_type in JobType))
    for name in COUNTED_BY_COMPANY:
        begin(name, ((company,) for company in companies))
    _begin_distributions(metrics, payers)


def _begin_distributions(metrics: ProcessMetrics, payers: Iterable[str]) -> None:
    """Show every distribution whose labels are known without a case."""
    own = metrics.distributions
    for name in (*WAITED.values(), "retry_backoff_delay_seconds", "reenvio_mail_duration_seconds"):
        own[name].begin([()])
    own["retry_analysis_duration_seconds"].begin((rule,) for rule in RULES)
    own["reenvio_send_duration_seconds"].begin((payer,) for payer in payers)


def _classified(catalog: Catalog) -> Iterable[tuple[str, str, str]]:
    for category, rule in product(catalog.categories, RULES):
        kind = ErrorClassification.PERMANENT if category.permanent else ErrorClassification.TRANSIENT
        yield kind, category.name, rule


def _permanent(catalog: Catalog) -> Iterable[tuple[str, str]]:
    permanent = (category for category in catalog.categories if category.permanent)
    return ((category.name, category.team or Team.BILLING_MANAGEMENT) for category in permanent)
