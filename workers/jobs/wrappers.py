"""What is put around every handler, in one order."""

from collections.abc import Callable, Mapping

from bpmn.names import JobType
from workers.jobs.idempotent import Memory, Operation, idempotent
from workers.jobs.outage_tolerant import outage_tolerant
from workers.jobs.services import Services
from workers.jobs.submit_claim import SEND_ONCE
from workers.runtime.handler import JobHandler

OPERATIONS: Mapping[str, Operation] = {JobType.SUBMIT_CLAIM: SEND_ONCE}


def wrapped(handler: JobHandler, services: Services) -> JobHandler:
    """The handler, whose input is typed inside, in all its wrappers."""
    for wrapper in WRAPPERS:
        handler = wrapper(handler, services)
    return handler


def _limited(handler: JobHandler, services: Services) -> JobHandler:
    return services.limits.applied_to(handler)


def _idempotent(handler: JobHandler, services: Services) -> JobHandler:
    operation = OPERATIONS.get(handler.type)
    if operation is None or services.cipher is None:
        return handler
    return idempotent(handler, operation, Memory(services.store, services.cipher, services.clock))


def _outage_tolerant(handler: JobHandler, services: Services) -> JobHandler:
    return outage_tolerant(handler, services.store.refuses, services.doubt)


WRAPPERS: tuple[Callable[[JobHandler, Services], JobHandler], ...] = (
    _limited,
    _idempotent,
    _outage_tolerant,
)
"""From the inside out: the lease must outlive the time limit, so limits come first; the database may be away
for an operation's record too, so outages come last."""
