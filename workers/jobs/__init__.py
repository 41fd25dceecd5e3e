"""The job handlers, listed in process order."""

from collections.abc import Sequence

from workers.jobs.close_claim import close_claim
from workers.jobs.decisions import analyze_retry, retry_submission_backoff
from workers.jobs.maintenance import anchor_audit, apply_retention, clean_idempotency, start_claims
from workers.jobs.notify import notify
from workers.jobs.open_review import open_review
from workers.jobs.probe_payers import probe_payers
from workers.jobs.services import Services
from workers.jobs.submit_claim import submit_claim
from workers.jobs.wrappers import wrapped
from workers.runtime.handler import JobHandler


def all_handlers(services: Services) -> Sequence[JobHandler]:
    """Every handler there is, ready to serve."""
    handlers = (
        submit_claim(services),
        retry_submission_backoff(services),
        analyze_retry(services),
        notify(services),
        open_review(services),
        close_claim(services),
        clean_idempotency(services),
        anchor_audit(services),
        apply_retention(services),
        probe_payers(services),
        start_claims(services),
    )
    return tuple(wrapped(handler, services) for handler in handlers)
