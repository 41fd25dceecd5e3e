"""The broker's log: one file of bounded size, its tail, and following it."""

import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

from gateways.private_folders import private_folder
from gateways.zeebe.engine.config import EngineConfig

_LOG4J = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="WARN" shutdownHook="disable">
  <Appenders>
    <RollingFile name="File" fileName={file} filePattern={pattern} append="true">
      <PatternLayout pattern="%d{{yyyy-MM-dd HH:mm:ss.SSS}} %-5level %logger{{36}} - %msg%n"/>
      <SizeBasedTriggeringPolicy size="10 MB"/>
      <DefaultRolloverStrategy max="3"/>
    </RollingFile>
  </Appenders>
  <Loggers>
    <Root level="info"><AppenderRef ref="File"/></Root>
  </Loggers>
</Configuration>
"""
_LOOK_AGAIN_SECONDS = 0.3
_LAST_MESSAGES = 15
_GIVEN_UP = ("Application run failed", "Failed to start broker")
_STACK_FRAME = ("\tat ", "\t... ")


def write_log_settings(config: EngineConfig) -> None:
    """Give each start a log of its own, and tell the broker's logger when to roll it over."""
    private_folder(config.log_file.parent)
    if config.log_file.exists():
        config.log_file.replace(config.log_file.with_name("broker.before.log"))
    rolled = config.log_file.with_name("broker.%i.log")
    config.log_settings_file.write_text(
        _LOG4J.format(file=quoteattr(str(config.log_file)), pattern=quoteattr(str(rolled)))
    )


def log_tail(config: EngineConfig, lines: int) -> list[str]:
    """The last lines of the broker's log; empty when it never ran."""
    return tail_of(config.log_file, lines)


def tail_of(path: Path, lines: int) -> list[str]:
    """The last lines of a log; empty when there is none."""
    try:
        with path.open(errors="replace") as log:
            return [line.rstrip("\n") for line in deque(log, maxlen=lines)]
    except FileNotFoundError:
        return []


def last_messages(path: Path) -> list[str]:
    """The last lines that say something: without the frames of Java's stack traces."""
    messages = [line for line in tail_of(path, 500) if line.strip() and not line.startswith(_STACK_FRAME)]
    return messages[-_LAST_MESSAGES:]


def has_given_up(config: EngineConfig) -> bool:
    """Whether the broker said that it cannot start; its process may stay all the same."""
    return any(phrase in line for line in log_tail(config, 500) for phrase in _GIVEN_UP)


def news_of(path: Path) -> Iterator[str]:
    """Lines written from now on, across roll-overs, until the caller stops listening."""
    return _follow(path, _size(path))


def _follow(path: Path, position: int) -> Iterator[str]:
    while True:
        for line in _lines_after(path, position):
            position += len(line)
            yield line.decode(errors="replace").rstrip("\n")
        if _size(path) < position:
            position = 0
        else:
            time.sleep(_LOOK_AGAIN_SECONDS)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _lines_after(path: Path, position: int) -> list[bytes]:
    try:
        with path.open("rb") as log:
            log.seek(position)
            return [line for line in log if line.endswith(b"\n")]
    except FileNotFoundError:
        return []
