"""JAVA_HOME is used when it can run the broker, and refused with advice when it cannot."""

from pathlib import Path

import pytest

from gateways.zeebe.engine import EngineError
from gateways.zeebe.engine.java import OLDEST_JAVA, find_java


def java_home(folder: Path, script: str) -> Path:
    executable = folder / "bin" / "java"
    executable.parent.mkdir()
    executable.write_text(f"#!/bin/sh\n{script}\n")
    executable.chmod(0o755)
    return folder


def saying(version: str) -> str:
    return f"echo 'openjdk version \"{version}\" 2021-04-20' >&2"


@pytest.mark.parametrize(("version", "major"), [("1.8.0_292", 8), ("11.0.2", 11), ("17", 17), ("20.0.1", 20)])
def test_a_too_old_java_home_is_one_line_of_advice(tmp_path: Path, version: str, major: int) -> None:
    with pytest.raises(EngineError) as refused:
        find_java(java_home(tmp_path, saying(version)))
    assert str(refused.value) == (
        f"JAVA_HOME is Java {major} ({tmp_path}), too old for the engine: "
        "unset JAVA_HOME to use the bundled Java, or point it at Java 21 or newer."
    )


@pytest.mark.parametrize(("version", "major"), [("21", 21), ("21.0.4", 21), ("25.0.2", 25), ("26-ea", 26)])
def test_a_new_enough_java_home_is_used(tmp_path: Path, version: str, major: int) -> None:
    java = find_java(java_home(tmp_path, saying(version)))
    assert (java.executable, java.major) == (tmp_path / "bin" / "java", major)


def test_a_java_home_without_java_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="there is no bin/java in it: unset JAVA_HOME"):
        find_java(tmp_path)


@pytest.mark.parametrize("script", ["echo hello", "exit 1"])
def test_a_java_that_does_not_tell_its_version_is_refused(tmp_path: Path, script: str) -> None:
    with pytest.raises(EngineError, match="does not tell its version"):
        find_java(java_home(tmp_path, script))


def test_a_java_that_may_not_be_run_is_refused(tmp_path: Path) -> None:
    home = java_home(tmp_path, saying("21"))
    (home / "bin" / "java").chmod(0o644)
    with pytest.raises(EngineError, match="unset JAVA_HOME"):
        find_java(home)


def test_without_java_home_the_bundled_java_runs() -> None:
    assert find_java(None).major >= OLDEST_JAVA
