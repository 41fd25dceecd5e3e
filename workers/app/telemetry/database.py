"""How long the database takes, as its users feel it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from persistence.database.watch import Access, Watch
from workers.app.telemetry.metrics import ProcessMetrics


def timed(metrics: ProcessMetrics, seconds: Callable[[], float] = perf_counter) -> Watch:
    """Times reads and writes; a write that several share is one."""
    durations = metrics.distributions["reenvio_database_duration_seconds"]
    durations.begin((access.value,) for access in Access if access is not Access.SHARED_WRITE)

    @contextmanager
    def watch(access: Access) -> Iterator[None]:
        began = seconds()
        try:
            yield
        finally:
            if access is not Access.SHARED_WRITE:
                durations.record(seconds() - began, (access.value,))

    return watch


def both(one: Watch, other: Watch) -> Watch:
    """Each access in the blocks of two who watch."""

    @contextmanager
    def watch(access: Access) -> Iterator[None]:
        with one(access), other(access):
            yield

    return watch
