"""Who takes part: every contender that can run here, and why the others cannot."""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gateways.zeebe.engine import EngineConfig
from persistence.encryption.keys import new_key
from tests.bench.collector import collecting
from tests.bench.contender import Contender
from tests.bench.databases import postgresql_database, server, sqlite_database
from tests.bench.java_client import NoJavaError, java_program
from tests.bench.names import TELEMETRY, Name

_JAVA_MODES = {Name.JAVA_POLLING: "polling", Name.JAVA_STREAMING: "streaming"}
_DATABASES: Mapping[Name, Callable[[Path], AbstractAsyncContextManager[str]]] = {
    Name.DECISION_SQLITE: sqlite_database,
    Name.DECISION_POSTGRESQL: postgresql_database,
    **{name: partial(sqlite_database, name=name) for name in TELEMETRY},
}
_WATCHED = {
    Name.TELEMETRY_OFF: {"METRICS_ENABLED": "false"},
    Name.METRICS_ON: {"METRICS_ENABLED": "true"},
    Name.TELEMETRY_ON: {"METRICS_ENABLED": "true", "METRICS_PUSH_SECONDS": "5", "LOG_LEVEL": "info"},
}


@dataclass(frozen=True, slots=True)
class Roster:
    """The contenders, one line for each that is missing, and the servers of their databases."""

    contenders: tuple[Contender, ...]
    missing: Mapping[Name, str]
    servers: tuple[int, ...] = ()


@asynccontextmanager
async def roster(chosen: Collection[Name], address: str, config: EngineConfig) -> AsyncIterator[Roster]:
    """Prepare the chosen contenders; their databases live as long as the block."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reenvio-bench-")))
        simple = [_python(name, address) for name in chosen if name not in {*_JAVA_MODES, *_DATABASES}]
        urls = {
            name: await stack.enter_async_context(_DATABASES[name](folder))
            for name in chosen
            if name in _DATABASES
        }
        durable = [_python(name, address, url) for name, url in urls.items()]
        if Name.TELEMETRY_ON in urls:
            collector = await stack.enter_async_context(collecting())
            durable = [_sending(contender, collector) for contender in durable]
        java, missing = await asyncio.to_thread(_java, chosen, address, config)
        servers = tuple(pid for url in urls.values() if (pid := server(url)))
        everyone = {contender.name: contender for contender in (*simple, *java, *durable)}
        yield Roster(tuple(everyone[name] for name in Name if name in everyone), missing, servers)


def _python(name: Name, address: str, database_url: str | None = None) -> Contender:
    durable = {"DATABASE_URL": database_url, "ENCRYPTION_KEYS": new_key("bench")} if database_url else {}
    environment = _WATCHED.get(name, {}) | durable
    command = (sys.executable, "-m", "tests.bench.python_worker", name, address)
    return Contender(name, command, environment, slow=name is Name.PYZEEBE_DEFAULTS)


def _sending(contender: Contender, collector: str) -> Contender:
    if contender.name is not Name.TELEMETRY_ON:
        return contender
    sent = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector}
    return replace(contender, environment={**contender.environment, **sent})


def _java(
    chosen: Collection[Name], address: str, config: EngineConfig
) -> tuple[list[Contender], dict[Name, str]]:
    wanted = [name for name in chosen if name in _JAVA_MODES]
    if not wanted:
        return [], {}
    try:
        program = java_program(config)
    except NoJavaError as reason:
        return [], dict.fromkeys(wanted, str(reason))
    return [Contender(name, program.command(address, _JAVA_MODES[name])) for name in wanted], {}
