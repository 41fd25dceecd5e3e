"""The job handlers, in process order, and what is put around each of them, from the inside out."""

from collections.abc import Sequence
from dataclasses import replace

from workers.jobs.close_claim import close_claim
from workers.jobs.decisions import analyze_retry, retry_submission_backoff
from workers.jobs.emails import queue_email, send_email
from workers.jobs.incidents import noting_incidents, resumable
from workers.jobs.maintenance import (
    anchor_audit,
    apply_retention,
    clean_idempotency,
    expire_dead_letters,
    heal_standing,
    probe_payers,
    send_reports,
    snapshot_kpis,
    start_claims,
    start_emails,
)
from workers.jobs.notify import notify
from workers.jobs.open_review import open_review
from workers.jobs.outage_tolerant import outage_tolerant
from workers.jobs.payer_words import PlainSpeakingGateway
from workers.jobs.postponements import noting_postponements
from workers.jobs.redrive import redrive_dead_letters
from workers.jobs.services import Services
from workers.jobs.storable import storable
from workers.jobs.submit_claim import submit_claim
from workers.jobs.variables import guarded
from workers.runtime.handler import JobHandler

HANDLERS = (
    submit_claim,
    retry_submission_backoff,
    analyze_retry,
    notify,
    open_review,
    close_claim,
    clean_idempotency,
    anchor_audit,
    apply_retention,
    probe_payers,
    start_claims,
    queue_email,
    send_email,
    start_emails,
    expire_dead_letters,
    redrive_dead_letters,
    heal_standing,
    snapshot_kpis,
    send_reports,
)


def all_handlers(services: Services) -> Sequence[JobHandler]:
    """Every handler there is, ready to serve; what payers write reaches none of them."""
    plain = replace(services, payer=PlainSpeakingGateway(services))
    return tuple(wrapped(handler(plain), plain) for handler in HANDLERS)


def wrapped(handler: JobHandler, services: Services) -> JobHandler:
    """The handler, whose input is typed inside, in its wrappers from the inside out.

    Nobody sees variables that do not fit or cannot be kept. What was begun again is the same job to all
    of them.
    """
    handler = guarded(services.limits.applied_to(handler), services)
    handler = outage_tolerant(handler, services.store.refuses, services.doubt)
    return noting_incidents(noting_postponements(storable(resumable(handler))), services)
