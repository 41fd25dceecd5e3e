"""The table of all metrics: name, kind, labels, what it says; docs/metrics.md shows the same.

Names of the rules' documents come first, in their exact spelling. No value of a process variable, no claim
and no patient is ever a label. `payer` and `company` are at most 20 by name, and "other" for the rest,
also for a payer that settings do not know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

OTHER = "other"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 240)
BACKOFF_MINUTES = (4, 5, 6, 8, 10, 12, 16, 20, 24, 30, 32, 40, 48, 60, 64, 80, 96, 120, 160, 192, 240)
MAIL_WAIT_SECONDS = (0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 16, 20, 32, 40, 60, 75, 150, 300)
AGE_SECONDS = (60, 300, 900, 3_600, 4 * 3_600, 12 * 3_600, 86_400, 2 * 86_400, 4 * 86_400, 7 * 86_400)


class Kind(StrEnum):
    """How a metric moves: up, up and down, or as a distribution, of all so far or of what there is now."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    SNAPSHOT = "histogram of now"


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table; `buckets` are the upper bounds of a histogram."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    says: str
    buckets: tuple[float, ...] = ()

    @property
    def unit(self) -> str:
        """Its unit in OpenTelemetry's notation; in Prometheus it stands at the end of the name.

        What is counted stands in braces: "1" is a share, and a Collector would append `_ratio` to its name.
        """
        stem = self.name.removesuffix("_total")
        measured = next((unit for ending, unit in UNITS.items() if stem.endswith(ending)), None)
        return measured or ("1" if self.name in SHARES else f"{{{THING_OF[self.name]}}}")


UNITS = {"_seconds": "s", "_minutes": "min", "_bytes": "By"}
SHARES = frozenset({"retry_success_rate", "reenvio_jitter_deviation_ratio"})
THINGS: Mapping[str, str] = MappingProxyType(
    {
        "attempt": "retry_attempts_total",
        "call": "reenvio_payer_places reenvio_payer_places_taken",
        "channel": "reenvio_renewals_failed_total",
        "claim": "submission_retry_max_exceeded max_retries_exceeded_total reenvio_claims reenvio_incidents "
        "reenvio_claims_failed_total "
        "reenvio_payer_waiting reenvio_standing_still reenvio_standing_healed_total",
        "connection": "reenvio_redis_rejected_connections_total",
        "decision": "reenvio_decisions_total",
        "error": "error_classification_distribution permanent_errors_total",
        "event": "reenvio_outbox_waiting reenvio_events_set_aside_total",
        "flag": "reenvio_ready reenvio_payer_state",
        "incident": "reenvio_incidents_elsewhere_total",
        "input": "reenvio_input_rejected_total",
        "job": "reenvio_jobs_taken_total reenvio_jobs_done_total reenvio_jobs_settled_before_total "
        "reenvio_jobs_expired_total reenvio_jobs_crashed_total",
        "letter": "dlq_entries_total dlq_size dlq_by_error_code dlq_by_company reenvio_dead_letters",
        "loop": "reenvio_loops_crashed_total",
        "mail": "tenant_jobs_processed tenant_consecutive_batch reenvio_mails_total "
        "reenvio_mail_failures_total reenvio_mails_waiting reenvio_mail_queue_size",
        "operation": "reenvio_idempotency_hits_total",
        "payer": "reenvio_payers",
        "priority": "tenant_current_priority",
        "report": "reenvio_reports_retried_total reenvio_reports_given_up_total",
        "request": "reenvio_gateway_failures_total",
        "retry": "submission_retry_total retry_scheduled_total reenvio_backoff_at_maximum_total",
        "send": "reenvio_sends_total",
        "turn": "tenant_rounds_without_processing reenvio_mail_fair_rounds",
        "value": "reenvio_kpi reenvio_kpi_target",
    }
)
"""What is counted, by whom; a KPI's value may be a share, a number or seconds."""
THING_OF = {name: thing for thing, names in THINGS.items() for name in names.split()}


def _counter(name: str, labels: str, says: str) -> Metric:
    return Metric(name, Kind.COUNTER, tuple(labels.split()), says)


def _gauge(name: str, labels: str, says: str) -> Metric:
    return Metric(name, Kind.GAUGE, tuple(labels.split()), says)


def _histogram(name: str, labels: str, says: str, buckets: tuple[float, ...] = SECONDS) -> Metric:
    return Metric(name, Kind.HISTOGRAM, tuple(labels.split()), says, buckets)


RN_BIL_004 = (
    _counter("submission_retry_total", "classification payer", "Retries scheduled under RN-BIL-004"),
    _histogram(
        "submission_retry_backoff_minutes", "", "Waits before retries under RN-BIL-004", BACKOFF_MINUTES
    ),
    _counter("submission_retry_max_exceeded", "cause", "Claims given up under RN-BIL-004, by what ran out"),
    _counter(
        "error_classification_distribution",
        "classification category rule",
        "Errors that were decided on, by class, category and rule",
    ),
)
RN_BIL_005 = (
    _histogram("retry_analysis_duration_seconds", "rule", "Time from a decision's job to its commit"),
    _counter("retry_scheduled_total", "classification payer", "Retries scheduled under RN-BIL-005"),
    _counter("max_retries_exceeded_total", "cause", "Claims given up under RN-BIL-005, by what ran out"),
    _counter("permanent_errors_total", "category team", "Permanent errors under RN-BIL-005"),
    _histogram("backoff_duration_minutes", "", "Waits before retries under RN-BIL-005", BACKOFF_MINUTES),
    _gauge(
        "retry_success_rate",
        "rule attempt",
        "Share that succeeded in the last 24 h: claims after a retry (RN-BIL-005), mail by attempt (03)",
    ),
)
DOCUMENT_03 = (
    _counter("retry_attempts_total", "attempt", "Attempts to send mail, by their number"),
    _histogram("retry_backoff_delay_seconds", "", "Waits before mail is sent again", MAIL_WAIT_SECONDS),
    _counter("dlq_entries_total", "", "Mails that became dead letters"),
    _gauge("dlq_size", "", "Dead letters that lie there now"),
    Metric("dlq_age_seconds", Kind.SNAPSHOT, (), "Ages of the dead letters that lie there now", AGE_SECONDS),
    _counter("dlq_by_error_code", "code", "Mails that became dead letters, by their last error"),
    _counter("dlq_by_company", "company", "Mails that became dead letters, by company"),
    _counter("tenant_jobs_processed", "company", "Mails that were taken up, by company"),
    _gauge("tenant_current_priority", "company", "A company's priority now; 1 is the most urgent"),
    _gauge("tenant_consecutive_batch", "company", "Mails in a row of the company whose turn it is"),
    _gauge("tenant_rounds_without_processing", "company", "Turns of others that a company waited through"),
)
DECISIONS = (
    _counter("reenvio_decisions_total", "rule outcome", "Decisions: retry, exhausted or permanent"),
    _counter("reenvio_claims_failed_total", "rule", "Claims, each at the first decision of a round"),
    _counter("reenvio_backoff_at_maximum_total", "rule", "Retries whose wait before jitter is the longest"),
    _gauge(
        "reenvio_jitter_deviation_ratio",
        "rule",
        "How far waits of the last 24 h are from spread evenly, beyond chance",
    ),
    _counter("reenvio_input_rejected_total", "rule", "Inputs that broke a rule"),
    _counter("reenvio_idempotency_hits_total", "operation", "Operations asked for again, answered as before"),
)
CLAIMS_AND_PAYERS = (
    _counter("reenvio_sends_total", "payer result", "Sends that are over, by what came of them"),
    _histogram("reenvio_send_duration_seconds", "payer", "Time that a payer took for a send"),
    _gauge("reenvio_claims", "state", "Claims by state"),
    _gauge("reenvio_incidents", "type", "Claims that stand on an incident, by the job that raised it"),
    _counter("reenvio_incidents_elsewhere_total", "type", "Incidents that are kept with no claim of ours"),
    _gauge("reenvio_payers", "state", "Payers by the state of their breaker"),
    _gauge("reenvio_payer_state", "payer state", "1 for the state that the payer's breaker is in, else 0"),
    _gauge("reenvio_payer_state_seconds", "payer", "How long the breaker has been in its state"),
    _gauge("reenvio_payer_held_seconds", "payer state", "Time since the payer stopped taking claims, else 0"),
    _gauge("reenvio_payer_places", "payer", "Calls that may be under way at once"),
    _gauge("reenvio_payer_places_taken", "payer", "Calls that are under way"),
    _gauge("reenvio_payer_waiting", "payer", "Claims that wait for the payer"),
)
MAIL = (
    _counter("reenvio_mails_total", "fate", "What became of mails at an attempt, or of age"),
    _counter("reenvio_mail_failures_total", "code fate", "Those that waited or died then, by the error"),
    _histogram("reenvio_mail_duration_seconds", "", "Time that an attempt to send a mail took"),
    _gauge("reenvio_mail_fair_rounds", "", "Turns of others through which a company may fairly wait"),
    _gauge("reenvio_mails_waiting", "", "Mails that are still to be sent"),
    _gauge("reenvio_mail_queue_size", "queue state", "Mails in email:send and email:send:dlq, by state"),
    _gauge("reenvio_mail_oldest_seconds", "", "Time since the oldest was (again) queued; 0 without"),
    _gauge("reenvio_dead_letters", "company", "Dead letters that lie there now, by company"),
)
EVENTS_AND_DATABASE = (
    _gauge("reenvio_outbox_waiting", "", "Events that are still to be published"),
    _gauge("reenvio_outbox_lag_seconds", "", "Age of the oldest of them; 0 without any"),
    _counter("reenvio_events_set_aside_total", "", "Outbox rows that cannot be published"),
    _histogram("reenvio_database_duration_seconds", "kind", "Time of a read or a write, repeated or not"),
    _gauge("reenvio_redis_memory_used_bytes", "", "Memory that Redis uses"),
    _gauge("reenvio_redis_memory_max_bytes", "", "Memory that Redis may use; left out without a limit"),
    _counter("reenvio_redis_rejected_connections_total", "", "Connections that Redis has refused"),
)
RUNTIME = (
    _gauge("reenvio_ready", "", "1 while a worker's /readyz is green, else 0"),
    _counter("reenvio_jobs_taken_total", "type how", "Jobs that came in, by stream or poll"),
    _counter("reenvio_jobs_done_total", "type outcome", "Jobs reported, and how"),
    _counter("reenvio_jobs_settled_before_total", "type", "Reports that the engine had already"),
    _counter("reenvio_jobs_expired_total", "type", "Jobs whose lock ended while they waited here"),
    _counter("reenvio_jobs_crashed_total", "type", "Handlers that met an unforeseen error"),
    _counter("reenvio_reports_retried_total", "type status", "Reports sent again"),
    _counter("reenvio_reports_given_up_total", "type status", "Reports that did not get through in time"),
    _counter("reenvio_gateway_failures_total", "type how status", "Requests for jobs that failed"),
    _counter("reenvio_renewals_failed_total", "error", "Channels not opened for a refused token"),
    _counter("reenvio_loops_crashed_total", "type how", "Loops for jobs that had to start over"),
    _histogram("reenvio_job_duration_seconds", "type", "Time a handler took"),
    _histogram(
        "reenvio_loop_blocked_seconds",
        "",
        "Time the event loop was kept from its turn, where over 0.1 s",
    ),
)
WATCH = (
    _gauge("reenvio_standing_still", "kind", "Claims or jobs that are past their time while others move"),
    _counter("reenvio_standing_healed_total", "kind", "Those that were set going again"),
    _gauge("reenvio_standing_look_age_seconds", "", "Time since the watch last looked for them"),
)
KPIS = (
    _gauge("reenvio_kpi", "kpi rule period", "A KPI's value in its latest snapshot"),
    _gauge("reenvio_kpi_target", "kpi rule", "The target that the rule sets for it"),
    _gauge("reenvio_kpi_age_seconds", "", "Time since KPIs were last counted"),
)
GROUPS: Mapping[str, Sequence[Metric]] = MappingProxyType(
    {
        "RN-BIL-004": RN_BIL_004,
        "RN-BIL-005": RN_BIL_005,
        "Document 03: mail": DOCUMENT_03,
        "Decisions": DECISIONS,
        "Claims and payers": CLAIMS_AND_PAYERS,
        "Mail": MAIL,
        "Events and database": EVENTS_AND_DATABASE,
        "Runtime": RUNTIME,
        "What stands still": WATCH,
        "KPIs": KPIS,
    }
)
METRICS: Mapping[str, Metric] = MappingProxyType(
    {metric.name: metric for group in GROUPS.values() for metric in group}
)
