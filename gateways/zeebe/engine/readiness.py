"""Waiting for a broker: until it answers, until it can work, or until it died."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from gateways.zeebe.engine.config import EngineConfig, RunningEngine
from gateways.zeebe.engine.errors import EngineError
from gateways.zeebe.engine.logs import has_given_up, last_messages
from gateways.zeebe.engine.management import ManagementAnswer, ManagementError, ask
from gateways.zeebe.engine.process import exit_code, has_ended

_LOOK_AGAIN_SECONDS = 0.2
_ANSWER_SECONDS = 2.0


class BrokerDiedError(EngineError):
    """The broker ended before it was ready."""


def is_ready(engine: RunningEngine) -> bool:
    """Whether the broker takes commands now."""
    answer = _get(f"{engine.management_url}/actuator/health/readiness")
    return answer is not None and answer.is_good


def is_managed(engine: RunningEngine) -> bool:
    """Whether the broker's management port answers; its clock can be set from then on."""
    return _get(f"{engine.management_url}/actuator/clock") is not None


@dataclass(frozen=True, slots=True)
class StartingBroker:
    """A broker on its way: its process, its (monotonic) deadline, and what takes the seconds left."""

    config: EngineConfig
    process: psutil.Process
    deadline: float
    tick: Callable[[float], None]

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Poll the condition until the deadline, with an eye on the process."""
        while not condition():
            left = self.deadline - time.monotonic()
            if has_ended(self.process) or has_given_up(self.config):
                raise _died(self.config, exit_code(self.process))
            if left <= 0:
                raise _too_slow(self.config)
            self.tick(left)
            time.sleep(_LOOK_AGAIN_SECONDS)


def _get(url: str) -> ManagementAnswer | None:
    try:
        return ask(url, seconds=_ANSWER_SECONDS)
    except ManagementError:
        return None


def _died(config: EngineConfig, code: int | None) -> BrokerDiedError:
    how = "" if code is None else f" (exit code {code})"
    return BrokerDiedError(
        f"The engine ended while it was starting{how}: its last log lines say why; "
        "if its data is damaged or of another version, move the folder "
        f"{config.data_folder} away and start again.",
        log_lines=last_messages(config.log_file),
    )


def _too_slow(config: EngineConfig) -> EngineError:
    return EngineError(
        f"The engine was not ready after {config.ready_seconds:.0f} s: "
        "the machine may be busy or short of memory; `reenvio engine stop`, then try again.",
        log_lines=last_messages(config.log_file),
    )
