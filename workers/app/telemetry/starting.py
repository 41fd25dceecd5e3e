"""Starts OpenTelemetry, which reads variables of its own: what it cannot use is told as a setting."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from workers.config.settings import SettingsError


@contextmanager
def settings_blamed() -> Iterator[None]:
    """An error in the block is the fault of the OTEL_ variables that are set, if any are; none is quoted."""
    try:
        yield
    except Exception as error:
        given = ", ".join(sorted(name for name in os.environ if name.startswith("OTEL_")))
        if not given:
            raise
        raise SettingsError(
            f"OpenTelemetry does not start with the settings that are given ({given}): "
            f"{type(error).__name__}. Correct or unset them (docs/operator.md)."
        ) from None  # its text may quote a secret
