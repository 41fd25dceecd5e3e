"""The HTTP interface on a real port: every answer is JSON, says what to do, and holds no patient."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim_state import ClaimState
from persistence.store import Store
from tests.support.intake_stage import API_TOKEN, DERIVED, FILE, IntakeStage, intake_stage
from tests.support.tiss_samples import CARD, DOCTOR, NOW, PAYER, file_bytes, file_text
from workers.api import api
from workers.app.http_server import Place, PortError, serving

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)  # both is test_intake's part
TOKEN = API_TOKEN.token
XML = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/xml"}
LIMIT = 20_000


@pytest.fixture
async def stage(store: Store, tmp_path: Path) -> AsyncIterator[IntakeStage]:
    async with intake_stage(store, tmp_path, max_bytes=LIMIT) as opened:
        yield opened


@pytest.fixture
async def http(stage: IntakeStage) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        serving(api(stage.ground(API_TOKEN)), Place("127.0.0.1", 0, "API_PORT")) as port,
        client(port) as c,
    ):
        yield c


@asynccontextmanager
async def client(port: int) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=XML, trust_env=False) as opened:
        yield opened


def problem(answer: httpx.Response, status: int) -> dict[str, str]:
    assert answer.status_code == status, answer.text
    body: dict[str, str] = answer.json()
    assert set(body) == {"field", "rule", "remedy", "message"}
    assert CARD not in answer.text
    assert DOCTOR not in answer.text
    return body


async def test_a_new_file_is_202_and_the_same_again_200(http: httpx.AsyncClient) -> None:
    first = await http.post("/api/claims", content=FILE)
    assert (first.status_code, first.json()) == (202, {"claimId": DERIVED, "state": "RECEIVED", "new": True})
    second = await http.post("/api/claims", content=FILE)
    assert (second.status_code, second.json()) == (
        200,
        {"claimId": DERIVED, "state": "RECEIVED", "new": False},
    )


async def test_payer_deadline_and_claim_id_are_asked_for_in_the_query(
    http: httpx.AsyncClient, stage: IntakeStage
) -> None:
    query = {"payer": PAYER, "deadline": "2026-01-16T10:30:00-03:00", "claimId": "CLM-own-1"}
    headers = {"Content-Type": "text/xml; charset=ISO-8859-1"}
    assert (await http.post("/api/claims", content=FILE, params=query, headers=headers)).status_code == 202
    shown = (await http.get("/api/claims/CLM-own-1")).json()
    assert (shown["deadline"], shown["payerId"]) == ("2026-01-16T13:30:00Z", PAYER)


async def test_a_claim_is_shown_without_its_patients(http: httpx.AsyncClient, stage: IntakeStage) -> None:
    await http.post("/api/claims", content=FILE)
    async with stage.store.transaction() as tx:
        await tx.claims.move(DERIVED, ClaimState.ACCEPTED, now=NOW, protocol_number="900000000001")
    shown = await http.get(f"/api/claims/{DERIVED}")
    assert shown.json() == {
        "claimId": DERIVED,
        "payerId": PAYER,
        "state": "ACCEPTED",
        "retryCount": 0,
        "nextRetryTime": None,
        "deadline": "2026-01-17T13:30:00Z",
        "batchNumber": "200000000001",
        "protocolNumber": "900000000001",
        "practice": False,
        "reason": None,
    }


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}é"])
@pytest.mark.parametrize(("method", "path"), [("POST", "/api/claims"), ("GET", "/api/claims/CLM-1-1")])
async def test_without_a_known_token_nothing_is_read(
    http: httpx.AsyncClient, header: str, method: str, path: str
) -> None:
    encoded = {b"Authorization": header.encode("latin-1")}
    answer = await http.request(method, path, content=b"x" * 10, headers=encoded)
    assert problem(answer, 401)["field"] == "Authorization"
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_another_content_type_is_415(http: httpx.AsyncClient) -> None:
    answer = await http.post("/api/claims", content=b"{}", headers={"Content-Type": "application/json"})
    assert problem(answer, 415)["field"] == "Content-Type"


@pytest.mark.parametrize(
    ("content", "query", "status", "field"),
    [
        (b"no xml", {}, 400, "file"),
        (b"", {}, 400, "file"),
        (b'<!DOCTYPE x [<!ENTITY e "e">]><x/>', {}, 400, "file"),
        (FILE, {"deadline": "soon"}, 400, "deadline"),
        (FILE, {"claimId": "x"}, 400, "claimId"),
        (b"<x/>", {}, 422, "file"),
        (FILE, {"payer": "111111"}, 422, "payer"),
        (FILE, {"deadline": "2020-01-01"}, 422, "deadline"),
        (FILE.replace(b"<ans:UF>35</ans:UF>", b""), {}, 422, "file"),
        (FILE + b" " * LIMIT, {}, 413, "file"),
    ],
)
async def test_what_is_wrong_is_named_by_field_and_rule(
    http: httpx.AsyncClient, content: bytes, query: dict[str, str], status: int, field: str
) -> None:
    body = problem(await http.post("/api/claims", content=content, params=query), status)
    assert body["field"] == field
    assert body["rule"]
    assert body["remedy"]


async def test_a_body_without_announced_length_is_read_within_the_bound(http: httpx.AsyncClient) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(LIMIT // 500):
            yield b" " * 1000

    async def chunks() -> AsyncIterator[bytes]:
        for chunk in endless():
            yield chunk

    problem(await http.post("/api/claims", content=chunks()), 413)


async def test_other_content_under_a_known_id_is_409(http: httpx.AsyncClient) -> None:
    await http.post("/api/claims", content=FILE)
    body = problem(await http.post("/api/claims", content=file_bytes(file_text(first=7))), 409)
    assert "CORRECTED --file" in body["remedy"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/claims/CLM-9-9", 404),
        ("GET", "/api/claims/nonsense", 400),
        ("GET", "/elsewhere", 404),
        ("DELETE", "/api/claims", 405),
    ],
)
async def test_what_is_not_there_is_json_too(
    http: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    problem(await http.request(method, path), status)


async def test_an_engine_that_is_away_is_503_and_the_claim_is_kept(
    http: httpx.AsyncClient, stage: IntakeStage
) -> None:
    stage.broker.is_open = False
    answer = await http.post("/api/claims", content=FILE)
    problem(answer, 503)
    assert int(answer.headers["retry-after"]) > 0
    stage.broker.is_open = True
    assert (await http.post("/api/claims", content=FILE)).status_code == 200
    assert len(stage.broker.taken) == 1


async def test_a_database_that_fails_is_503(http: httpx.AsyncClient, database: AsyncEngine) -> None:
    async with database.begin() as connection:
        await connection.execute(text("ALTER TABLE claims RENAME TO gone"))
    for answer in (await http.post("/api/claims", content=FILE), await http.get("/api/claims/CLM-1-1")):
        problem(answer, 503)
        assert "retry-after" in answer.headers


async def test_a_taken_port_is_told_by_its_setting(stage: IntakeStage) -> None:
    app = api(stage.ground(API_TOKEN))
    async with serving(app, Place("127.0.0.1", 0, "API_PORT")) as port:
        with pytest.raises(PortError, match="choose another API_PORT"):
            async with serving(app, Place("127.0.0.1", port, "API_PORT")):
                pass
