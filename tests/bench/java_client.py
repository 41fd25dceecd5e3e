"""The official Java client: jars fetched through jgo, our small program compiled with a JDK found here."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from jgo.maven import MavenContext, PythonResolver

from gateways.zeebe.engine import EngineConfig

SOURCE = Path(__file__).parent / "java" / "BenchWorker.java"
CLIENT = "io.camunda:zeebe-client-java"
COMPILE_SECONDS = 120


class NoJavaError(Exception):
    """One line: why the Java client cannot be measured here."""


@dataclass(frozen=True, slots=True)
class Jdk:
    """A compiler and the Java that runs what it compiled."""

    javac: Path
    java: Path


@dataclass(frozen=True, slots=True)
class JavaProgram:
    """The compiled contender, ready to start."""

    java: Path
    class_path: str

    def command(self, address: str, mode: str) -> tuple[str, ...]:
        """How to start it in a mode: polling or streaming."""
        return (str(self.java), "-cp", self.class_path, SOURCE.stem, address, mode)


def java_program(config: EngineConfig) -> JavaProgram:
    """Compile the contender for the broker's version; the jars stay in the cache."""
    jdk = find_jdk(os.environ.get("JAVA_HOME"), shutil.which("javac"))
    jars = client_jars(config)
    classes = config.cache / "bench" / f"classes-{config.version}"
    _compile(jdk, jars, classes)
    return JavaProgram(jdk.java, os.pathsep.join(map(str, [classes, *jars])))


def find_jdk(java_home: str | None, javac_on_path: str | None) -> Jdk:
    """JAVA_HOME when it can compile, else the javac on the PATH."""
    in_home = Path(java_home) / "bin" / "javac" if java_home else None
    javac = in_home if in_home and in_home.is_file() else None
    if javac is None and javac_on_path:
        javac = Path(javac_on_path).resolve()
    if javac is None:
        raise NoJavaError("no JDK here (neither JAVA_HOME nor the PATH has a javac)")
    return Jdk(javac, javac.with_name("java"))


def client_jars(config: EngineConfig) -> list[Path]:
    """The client of the broker's version and what it needs, fetched once."""
    context = MavenContext(
        resolver=PythonResolver(),
        repo_cache=config.cache / "bench" / "jars",
        local_repos=[],
        remote_repos={"mirror": config.mirror.rstrip("/")} if config.mirror else None,
        timeout=30,
    )
    try:
        client = context.create_dependency(f"{CLIENT}:{config.version}")
        inputs, transitive = context.resolver.resolve([client])
        return [dependency.artifact.resolve() for dependency in (*inputs, *transitive)]
    except (OSError, RuntimeError) as error:
        raise NoJavaError(
            f"{CLIENT}:{config.version} could not be fetched ({type(error).__name__})"
        ) from error


def _compile(jdk: Jdk, jars: list[Path], classes: Path) -> None:
    classes.mkdir(parents=True, exist_ok=True)
    class_path = os.pathsep.join(map(str, jars))
    command: list[str | Path] = [jdk.javac, "-cp", class_path, "-d", classes, SOURCE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False)
    if done.returncode:
        raise NoJavaError(f"javac refused {SOURCE.name}: {done.stderr.strip().splitlines()[0]}")
