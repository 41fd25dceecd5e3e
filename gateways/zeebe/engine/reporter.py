"""How a start tells what it is doing, whatever the screen."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class StartReporter(Protocol):
    """Listens to a start; an exception raised here ends the start and stops the half-started broker."""

    def info(self, message: str) -> None:
        """Something worth one line happened."""

    def download(self, name: str, size: int) -> AbstractContextManager[Callable[[int], None]]:
        """A download of `size` bytes begins; the yielded function takes the bytes that arrived."""

    def waiting(self, what: str, seconds: float) -> AbstractContextManager[Callable[[float], None]]:
        """A wait of at most `seconds` begins; the yielded function takes the seconds left."""


class SilentReporter:
    """Says nothing."""

    def info(self, message: str) -> None:
        """Keep it to ourselves."""

    @contextmanager
    def download(self, name: str, size: int) -> Iterator[Callable[[int], None]]:  # noqa: ARG002
        yield lambda _arrived: None

    @contextmanager
    def waiting(self, what: str, seconds: float) -> Iterator[Callable[[float], None]]:  # noqa: ARG002
        yield lambda _left: None
