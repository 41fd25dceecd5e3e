"""Everything that reads foreign bytes, each given a seed: it answers or refuses in its own words."""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

from domain.errors import Trouble
from domain.refusals import Refusal
from domain.submission import Accepted, SendResult, Submission
from gateways.tiss.gateway import TissGateway
from gateways.tiss.settings import read_payers
from gateways.tiss.validation import Schemas
from persistence.encryption.keys import cipher_of
from persistence.store import Store
from tests.fuzz.foreign_jobs import ODD, TEXTS, foreign_job
from tests.fuzz.mutations import mutated
from tests.fuzz.test_answers import answer
from tests.support.databases import KEYS
from tests.support.intake_stage import API_TOKEN, intake_stage
from tests.support.patients import patients_file
from tests.support.services import services
from tests.support.tiss_client import open_client
from tests.support.tiss_samples import NOW, PAYER, file_bytes, file_text, payer
from workers.api import api
from workers.app.http_server import Place, serving
from workers.claims.examination import ClaimFile
from workers.config.settings import TOPICS, GeneralSettings, read_settings
from workers.jobs import all_handlers
from workers.policy.file import default_text, parse_policy
from workers.runtime.job_reading import read_job
from workers.runtime.outcome import Outcome

HOST = "127.0.0.1"
TOKEN = API_TOKEN.token
PASSWORD = "Gehe1m#no/part@of:it"
PAYERS = f"""
[payers.{PAYER}]
endpoint = "https://payer.example/tiss"
version = "4.03.00"
requests_per_minute = 60
at_once = 4
"""
Read = Callable[[int], Awaitable[str]]
"""Reads what a seed makes; what it said to the outside, to be looked through for persons and secrets."""


@dataclass(frozen=True, slots=True)
class Reader:
    """One that reads, and its name in a failure."""

    name: str
    read: Read


@asynccontextmanager
async def all_readers(store: Store, folder: Path) -> AsyncIterator[tuple[Reader, ...]]:
    """Jobs, answers, files, HTTP, settings and policy, on one database."""
    async with intake_stage(store, folder) as stage, damaged_payer() as (gateway, serve):
        place = Place(HOST, 0, "API_PORT")
        async with serving(api(stage.ground(API_TOKEN)), place) as port:
            yield (
                Reader("job", _job(store)),
                Reader("answer", _answer(gateway, serve)),
                Reader("file", lambda seed: _file(stage.intake.submit, seed)),
                Reader("http", lambda seed: _http(port, seed)),
                Reader("settings", lambda seed: asyncio.to_thread(_settings, seed)),
                Reader("payers", lambda seed: asyncio.to_thread(_payers, folder, seed)),
                Reader("policy", lambda seed: asyncio.to_thread(_policy, seed)),
            )


def _job(store: Store) -> Read:
    with_keys = services(store, cipher=cipher_of(KEYS))
    handlers = {handler.type: handler for handler in all_handlers(with_keys)}

    async def read(seed: int) -> str:
        job = read_job(foreign_job(seed))
        if job.fault:
            return job.fault
        outcome = await handlers[job.type].handle(job)
        assert isinstance(outcome, get_args(Outcome)), outcome
        return repr(outcome)

    return read


async def _file(submit: Callable[[ClaimFile], Awaitable[object]], seed: int) -> str:
    rng = random.Random(seed)
    options: dict[str, Any] = {
        name: rng.choice(ODD) for name in ("payer", "deadline", "claim_id") if rng.random() < 0.1
    }
    try:
        return repr(await submit(ClaimFile(mutated(patients_file(), seed), **options)))
    except Refusal as refused:
        return str(refused)


@asynccontextmanager
async def damaged_payer() -> AsyncIterator[tuple[TissGateway, Callable[[int], None]]]:
    """A payer whose every answer is damaged by the seed that was set, over a real connection."""
    seeds = [0]

    async def damaged(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(_reply(seeds[0]))
        writer.close()

    async with await asyncio.start_server(damaged, HOST, 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with open_client(payer(f"http://{HOST}:{port}/"), Schemas()) as client:
            yield TissGateway({PAYER: client}), lambda seed: seeds.__setitem__(0, seed)


async def _request(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    await reader.readexactly(int(lengths[0].split(b":")[1]))


def _reply(seed: int) -> bytes:
    rng = random.Random(seed)
    status = rng.choice(("200 OK",) * 6 + ("403 Forbidden", "500 Oops", "503 Busy", "302 Found", "999 ?"))
    body, _ = answer(seed)
    whole = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/xml\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    )
    return mutated(whole, seed + 1) if rng.random() < 0.3 else whole


def _answer(gateway: TissGateway, serve: Callable[[int], None]) -> Read:
    content = file_bytes(file_text())

    async def read(seed: int) -> str:
        serve(seed)
        sent = Submission("CLM-1", PAYER, seed + 1, content=content)
        result = await gateway.send(sent, NOW)
        assert isinstance(result, get_args(SendResult)), result
        assert not isinstance(result, Accepted) or result.protocol_number == "900000000001"
        return repr(result)

    return read


async def _http(port: int, seed: int) -> str:
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        writer.write(_call(seed))
        writer.write_eof()
        async with asyncio.timeout(30):
            said = await reader.read()
    except ConnectionError:
        return ""
    finally:
        writer.close()
    assert not said or said.startswith(b"HTTP/1.1 ")
    assert not said.startswith(b"HTTP/1.1 500"), said
    return said.decode("latin-1")


def _call(seed: int) -> bytes:
    rng = random.Random(seed)
    body = mutated(patients_file(), seed) if rng.random() < 0.7 else patients_file()
    target = rng.choice(("/api/claims", "/api/claims/CLM-1", "/api/claims?claimId=%00", "/api/claims/%2e%2e"))
    head = (
        f"{rng.choice(('POST', 'GET', 'PUT'))} {target} HTTP/1.1\r\n"
        f"Host: h\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: text/xml\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    whole = head.encode() + body
    return mutated(whole, seed + 1) if rng.random() < 0.4 else whole


def _settings(seed: int) -> str:
    with patch.dict(os.environ, _environment(random.Random(seed)), clear=True):
        return _refusal(read_settings)


def _environment(rng: random.Random) -> Mapping[str, str]:
    names = rng.sample(_NAMES, rng.randrange(1, 8))
    values = (*TEXTS, "{}", "[]", "1", "-1", "nan", "{" * 5_000, f"postgresql+asyncpg://u:{PASSWORD}@h:x/d")
    return {name: rng.choice(values).replace("\x00", "") for name in names}


def _variables() -> list[str]:
    topics = {"": GeneralSettings} | dict(TOPICS)
    return [
        str(field.validation_alias or f"{topic.model_config.get('env_prefix', '')}{name}").upper()
        for topic in topics.values()
        for name, field in topic.model_fields.items()
    ]


_NAMES = _variables()


def _payers(folder: Path, seed: int) -> str:
    file = folder / "fuzzed-payers.toml"
    file.write_bytes(mutated(PAYERS.encode(), seed))
    return _refusal(lambda: read_payers(file, {}))


def _policy(seed: int) -> str:
    return _refusal(lambda: parse_policy(mutated(default_text().encode(), seed).decode("utf-8", "replace")))


def _refusal(work: Callable[[], object]) -> str:
    try:
        work()
    except Trouble as refused:
        return str(refused)
    return ""
