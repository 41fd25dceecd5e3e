"""A process's metrics, put together: who listens, whose names are labels, where counters begin."""

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from bpmn.names import JobType
from domain.catalog import Catalog
from domain.mail.retry import PROFILES
from domain.observations import Observe, nobody_watches
from persistence.database.watch import Watch, unwatched
from workers.app.telemetry.business import BusinessMetrics, Known, KnownNames, begin_counters
from workers.app.telemetry.database import timed
from workers.app.telemetry.label_names import LabelNames
from workers.app.telemetry.metrics import ProcessMetrics, PushTerms
from workers.app.telemetry.resource import resource
from workers.app.telemetry.runtime import RuntimeMetrics
from workers.app.telemetry.starting import settings_blamed
from workers.config.idempotency import OperationName
from workers.config.settings import Settings
from workers.mail.recipients import read_companies
from workers.runtime.events import Listener, nobody

SET_ASIDE = "reenvio_events_set_aside_total"
DECIDING = (JobType.RETRY_SUBMISSION_BACKOFF, JobType.ANALYZE_RETRY)


@dataclass(frozen=True, slots=True)
class Metering:
    """The metrics of this process, and who counts for them."""

    metrics: ProcessMetrics
    names: KnownNames
    listener: Listener = nobody
    observe: Observe = nobody_watches
    watch: Watch = unwatched

    def set_aside(self, number: int) -> None:
        """Count events that cannot be published."""
        self.metrics.counters.add(SET_ASIDE, (), number)

    def pushed(self, settings: Settings) -> AbstractAsyncContextManager[None]:
        """Pushed by OTLP beside a block, where an address is set."""
        endpoint, seconds = settings.telemetry.exporter_otlp_endpoint, settings.metrics.push_seconds
        return self.metrics.pushed(PushTerms(endpoint, seconds) if endpoint else None)


def bare_metering(settings: Settings) -> Metering:
    """The metrics of a process that runs no jobs: nobody counts but who is handed the counters."""
    with settings_blamed():
        return Metering(ProcessMetrics(resource(settings.telemetry.service_name)), KnownNames())


def job_metering(settings: Settings, payers: Iterable[str], catalog: Catalog) -> Metering:
    """The metrics of a process that runs jobs; nothing is counted where metrics are switched off."""
    bare = bare_metering(settings)
    if not settings.metrics.enabled:
        return bare
    names = KnownNames(LabelNames(sorted(payers)), LabelNames(_companies(settings)))
    attempts = PROFILES[settings.mail.retry_profile].max_attempts
    begin_counters(bare.metrics, Known(names, catalog, (*OperationName, *DECIDING), attempts))
    runtime, business = RuntimeMetrics(bare.metrics), BusinessMetrics(bare.metrics, names)
    return Metering(bare.metrics, names, runtime.count, business.count, timed(bare.metrics))


def _companies(settings: Settings) -> Iterable[str]:
    """The companies of the settings: our own, those of a tier or with limits of their own, all others."""
    mail, fairness = settings.mail, settings.fairness
    yield mail.company_id
    yield from sorted({*fairness.tiers, *fairness.company_limits})
    yield from sorted(read_companies(mail.companies_file))
