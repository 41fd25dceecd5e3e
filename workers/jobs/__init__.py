"""The job handlers, listed in process order."""

from collections.abc import Sequence

from domain.ports import Clock
from domain.submission import PayerGateway
from persistence.store import Store
from workers.jobs.close_claim import close_claim
from workers.jobs.decisions import PolicyNow, analyze_retry, retry_submission_backoff
from workers.jobs.notify import notify
from workers.jobs.open_review import open_review
from workers.jobs.submit_claim import submit_claim
from workers.runtime.handler import JobHandler


def all_handlers(store: Store, payer: PayerGateway, policy: PolicyNow, clock: Clock) -> Sequence[JobHandler]:
    """Every handler there is."""
    return (
        submit_claim(store, payer, clock),
        retry_submission_backoff(store, policy, clock),
        analyze_retry(store, policy, clock),
        notify(store, clock),
        open_review(store, clock),
        close_claim(store, clock),
    )
