"""Start, stop and status of the one broker that belongs to a home folder."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psutil

from gateways.private_folders import private_folder
from gateways.zeebe.engine.config import EngineConfig, RunningEngine
from gateways.zeebe.engine.distribution import installed_distribution
from gateways.zeebe.engine.environment import broker_environment
from gateways.zeebe.engine.errors import EngineError
from gateways.zeebe.engine.java import Java, find_java
from gateways.zeebe.engine.locks import exclusive
from gateways.zeebe.engine.logs import log_tail, write_log_settings
from gateways.zeebe.engine.memory import megabytes
from gateways.zeebe.engine.offset import restore_offset, save_offset
from gateways.zeebe.engine.ports import PREFERRED, Ports, choose_ports
from gateways.zeebe.engine.process import listens_on, spawn, terminate
from gateways.zeebe.engine.readiness import BrokerDiedError, StartingBroker, is_managed, is_ready
from gateways.zeebe.engine.reporter import SilentReporter, StartReporter
from gateways.zeebe.engine.state import EngineState, live_process, read_state, write_state

_VERSION = re.compile(r"\d+\.\d+\.\d+(-[A-Za-z0-9.]+)?")
_PORT_TAKEN = "already in use"


@dataclass(frozen=True, slots=True)
class _Program:
    java: Java
    distribution: Path


def start(config: EngineConfig, reporter: StartReporter) -> RunningEngine:
    """Return a broker that is ready: the one that runs already, or a new one."""
    _check(config)
    with system_refusals():
        # the download comes before the lock, so that nobody waits for it who only wants to stop
        program = None if status(config) else _prepare(config, reporter)
        with _home_lock(config, reporter):
            state = read_state(config.state_file)
            process = live_process(state) if state else None
            if state and process:
                return _join(config, state, process, reporter)
            return _start_new(config, program or _prepare(config, reporter), reporter)


def stop(config: EngineConfig) -> bool:
    """End the broker if it runs; False when there was none."""
    if not config.home.exists():
        return False
    with system_refusals(), _home_lock(config, SilentReporter()):
        state = read_state(config.state_file)
        process = live_process(state) if state else None
        if state and process:
            save_offset(config, state.running_engine())
            terminate(process, config.stop_seconds)
        config.state_file.unlink(missing_ok=True)
        return process is not None


def status(config: EngineConfig) -> RunningEngine | None:
    """The live broker of this home folder, ready or still starting."""
    state = read_state(config.state_file)
    return state.running_engine() if state and live_process(state) else None


def _prepare(config: EngineConfig, reporter: StartReporter) -> _Program:
    return _Program(find_java(config.java_home), installed_distribution(config, reporter))


def _join(
    config: EngineConfig, state: EngineState, process: psutil.Process, reporter: StartReporter
) -> RunningEngine:
    """Return the broker that another start made, or left half-started when it was killed."""
    engine = state.running_engine()
    reporter.info(f"The engine is already running (Zeebe {engine.version}, process {engine.pid}).")
    if engine.version != config.version:
        reporter.info(f"Zeebe {config.version} was asked for: stop the engine first to change its version.")
    _wait_until_ready(config, state, process, reporter)
    return engine


def _start_new(config: EngineConfig, program: _Program, reporter: StartReporter) -> RunningEngine:
    try:
        return _attempt(config, program, choose_ports(config.ports, PREFERRED), reporter)
    except BrokerDiedError:
        # another program may have taken a port between our choice and the broker's bind
        if not any(_PORT_TAKEN in line.lower() for line in log_tail(config, 500)):
            raise
    reporter.info("A port was taken meanwhile; starting again on other ports.")
    return _attempt(config, program, choose_ports(config.ports, None), reporter)


def _attempt(config: EngineConfig, program: _Program, ports: Ports, reporter: StartReporter) -> RunningEngine:
    state, process = _launch(config, program, ports)
    try:
        _wait_until_ready(config, state, process, reporter)
    except BaseException:
        terminate(process, config.stop_seconds)
        config.state_file.unlink(missing_ok=True)
        raise
    return state.running_engine()


def _launch(config: EngineConfig, program: _Program, ports: Ports) -> tuple[EngineState, psutil.Process]:
    private_folder(config.data_folder)
    write_log_settings(config)
    environment = broker_environment(config, program.java, ports=ports, inherited=os.environ)
    broker = program.distribution / "bin" / config.program
    process = spawn([str(broker)], environment=environment, log_file=config.log_file)
    state = EngineState(process.pid, process.create_time(), config.version, ports)
    write_state(config.state_file, state)
    return state, process


def _wait_until_ready(
    config: EngineConfig, state: EngineState, process: psutil.Process, reporter: StartReporter
) -> None:
    engine, ports = state.running_engine(), state.ports

    # the process is asked first: another broker that won the port would answer in our broker's place
    def managed() -> bool:
        return listens_on(process, [ports.management]) and is_managed(engine)

    def ready() -> bool:
        return listens_on(process, [ports.management, ports.grpc]) and is_ready(engine)

    deadline = time.monotonic() + config.ready_seconds
    with reporter.waiting("Waiting for the engine", config.ready_seconds) as tick:
        starting = StartingBroker(config, process, deadline, tick)
        starting.wait_until(managed)
        moved = restore_offset(config, engine)
        starting.wait_until(ready)
    if moved:
        ahead = timedelta(seconds=round(moved.total_seconds()))
        reporter.info(f"The engine's clock goes on {ahead} ahead, as this data folder left it.")


def _home_lock(config: EngineConfig, reporter: StartReporter) -> AbstractContextManager[None]:
    private_folder(config.home)
    return exclusive(config.home / "engine.lock", reporter, "Another start is under way; waiting for it.")


@contextmanager
def system_refusals() -> Iterator[None]:
    """What the system does not let us do, in one line."""
    try:
        yield
    except OSError as error:
        raise EngineError(
            f"The engine's files cannot be used ({error}): correct ENGINE_HOME, ENGINE_CACHE or their rights."
        ) from error
    except psutil.Error as error:
        raise EngineError(
            f"The system does not let us manage the engine ({error}): was it started by another user?"
        ) from error


def _check(config: EngineConfig) -> None:
    if not _VERSION.fullmatch(config.version):
        raise EngineError(f"ENGINE_VERSION is {config.version!r}: write it like 8.6.0.")
    megabytes(config.memory, "ENGINE_MEMORY")
