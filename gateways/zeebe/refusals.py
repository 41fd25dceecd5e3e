"""What the engine says of a command that it did not take; apart, so that telling it needs no gRPC."""

from domain.errors import Trouble


class CommandRefusedError(Trouble):
    """The engine did not take a command; the text says what to look at."""


class InstanceGoneError(CommandRefusedError):
    """There is no such process instance any more."""


class ElementGoneError(CommandRefusedError):
    """The instance is there, but an element to end or to begin is not."""


class NoAnswerError(CommandRefusedError):
    """The engine did not answer in time: whether it took the command nobody knows."""
