"""What the embedded engine tells a person when it cannot go on."""

from collections.abc import Sequence

from domain.errors import Trouble


class EngineError(Trouble):
    """One line: what happened, why, what to do; `log_lines` holds the broker's last messages, if any."""

    def __init__(self, advice: str, *, log_lines: Sequence[str] = ()) -> None:
        super().__init__(advice)
        self.log_lines = tuple(log_lines)
