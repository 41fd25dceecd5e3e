"""The job handlers, listed in process order."""

from collections.abc import Awaitable, Callable, Sequence

from domain.ports import Clock
from domain.retention import Periods
from domain.submission import PayerGateway
from persistence.encryption.cipher import Cipher
from persistence.store import Store
from workers.jobs.close_claim import close_claim
from workers.jobs.decisions import PolicyNow, analyze_retry, retry_submission_backoff
from workers.jobs.idempotent import Memory, idempotent
from workers.jobs.maintenance import (
    anchor_audit,
    apply_retention,
    clean_idempotency,
    nothing_received,
    start_claims,
)
from workers.jobs.notify import notify
from workers.jobs.open_review import open_review
from workers.jobs.outage_tolerant import outage_tolerant
from workers.jobs.probe_payers import probe_payers
from workers.jobs.submit_claim import SEND_ONCE, submit_claim
from workers.payers.limits import LimitsByPayer
from workers.payers.waking import Waker
from workers.runtime.handler import JobHandler


def all_handlers(
    store: Store,
    payer: PayerGateway,
    policy: PolicyNow,
    clock: Clock,
    *,
    cipher: Cipher | None = None,
    periods: Periods | None = None,
    waker: Waker | None = None,
    start_received: Callable[[], Awaitable[int]] = nothing_received,
    limited: Callable[[JobHandler], JobHandler] = lambda handler: handler,
    doubt: Callable[[], None] = lambda: None,
) -> Sequence[JobHandler]:
    """Every handler there is, within its limits; without a cipher no operation's result is kept.

    `doubt` is told when the database may be away.
    """
    waker = waker or Waker(store, LimitsByPayer())
    sending = limited(submit_claim(store, payer, policy, clock, waker, cipher))
    if cipher:  # after the limits: the lease must outlive the time limit
        sending = idempotent(sending, SEND_ONCE, Memory(store, cipher, clock))
    others = (
        retry_submission_backoff(store, policy, clock),
        analyze_retry(store, policy, clock),
        notify(store, clock),
        open_review(store, clock),
        close_claim(store, clock),
        clean_idempotency(store, clock),
        anchor_audit(store, clock),
        apply_retention(store, periods or Periods(), clock),
        probe_payers(clock, waker),
        start_claims(clock, start_received),
    )
    return tuple(
        outage_tolerant(handler, store.refuses, doubt) for handler in (sending, *map(limited, others))
    )
