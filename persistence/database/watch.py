"""How whoever watches the database is told: every access happens in a block of the watcher's."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum


class Access(StrEnum):
    """What is done; whoever waits for a commit that others share sees it as `SHARED_WRITE`."""

    READ = "read"
    WRITE = "write"
    SHARED_WRITE = "shared write"


Watch = Callable[[Access], AbstractContextManager[object]]


def unwatched(_access: Access) -> AbstractContextManager[object]:
    """Watched by nobody."""
    return nullcontext()
