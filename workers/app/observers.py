"""Those who watch our work, each told of everything; none of them can disturb it or another."""

from contextlib import suppress

import structlog

from domain.observations import Observation, Observe

log = structlog.get_logger(__name__)


def all_of(*observers: Observe) -> Observe:
    """One who tells all of them."""

    def observe(observation: Observation) -> None:
        for tell in observers:
            _tell(tell, observation)

    return observe


def _tell(tell: Observe, observation: Observation) -> None:
    """What was done is done, whatever becomes of the word about it."""
    try:
        tell(observation)
    except Exception as error:
        with suppress(Exception):
            what = type(observation).__name__
            log.error("observer_failed", what=what, error=type(error).__name__)  # noqa: TRY400  # no values
