"""What a process loads at its start stays: the collector of garbage need not search it again and again.

A search through all that a worker imports takes a tenth of a second, in which nothing else is done.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def never_searched() -> Iterator[None]:
    """Nothing is searched for garbage while the block loads, nor ever again what was there at its end."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def settle() -> None:
    """For a process that runs for long, once all is open: what the start has left behind is taken away."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
