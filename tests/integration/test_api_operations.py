"""What other systems may ask for over HTTP: each operation, by who may, and as its description says."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import jsonschema
import pytest

from domain.access import Role, permissions_of
from domain.claim_state import ClaimState
from domain.payer_status import PayerState
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.console_scene import NORTH, SOUTH, ConsoleScene
from tests.support.intake_stage import IntakeStage, intake_stage
from workers.api import api
from workers.api.description import description
from workers.api.operations import OPERATIONS, ApiOperation
from workers.app.http_server import Place, serving
from workers.config.intake import SystemToken

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
TOKENS = {role: SystemToken(role.value, frozenset({role}), role.value.ljust(32, "-")) for role in Role}
BECAUSE = {"reason": "the ERP asks for it"}
REFUSALS = {"field", "rule", "remedy", "message"}


@pytest.fixture
async def stage(store: Store, tmp_path: Path) -> AsyncIterator[IntakeStage]:
    async with intake_stage(store, tmp_path) as opened:
        opened.clock.moment = NOW
        yield opened


@pytest.fixture
async def port(stage: IntakeStage) -> AsyncIterator[int]:
    ground = stage.ground(*TOKENS.values())
    async with serving(api(ground), Place("127.0.0.1", 0, "API_PORT")) as opened:
        yield opened


@asynccontextmanager
async def system(port: int, role: Role) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {TOKENS[role].token}"}
    base = f"http://127.0.0.1:{port}"
    async with httpx.AsyncClient(base_url=base, headers=headers, trust_env=False) as opened:
        yield opened


async def asked(client: httpx.AsyncClient, one: ApiOperation) -> httpx.Response:
    path = one.path.format(claim_id="CLM-9-9", payer_id="nobody")
    body = {"json": BECAUSE} if one.order else {}
    return await client.request(one.method, path, **body)  # type: ignore[arg-type]


@pytest.mark.parametrize("role", Role)
async def test_each_system_may_what_its_roles_may(port: int, role: Role) -> None:
    async with system(port, role) as client:
        answers = [await asked(client, one) for one in OPERATIONS]
    refused = {
        one.permission for one, answer in zip(OPERATIONS, answers, strict=True) if answer.status_code == 403
    }
    assert refused == {one.permission for one in OPERATIONS} - permissions_of({role})
    assert all(set(answer.json()) == REFUSALS for answer in answers if answer.is_error)
    assert not any(answer.status_code >= 500 for answer in answers)


async def test_claims_are_listed_page_by_page_and_none_twice(port: int, store: Store) -> None:
    await ConsoleScene(store, NOW).everything()
    async with system(port, Role.VIEWER) as client:
        whole = (await client.get("/api/claims", params={"limit": 500})).json()
        assert whole["next"] is None
        ids: list[str] = []
        after = None
        while after or not ids:
            query = {"limit": 7} | ({"after": after} if after else {})
            page = (await client.get("/api/claims", params=query)).json()
            ids += [one["claimId"] for one in page["claims"]]
            after = page["next"]
    assert ids == [one["claimId"] for one in whole["claims"]]
    assert len(set(ids)) == len(ids) > 20


async def test_lists_are_narrowed_and_reviews_name_their_team(port: int, store: Store) -> None:
    await ConsoleScene(store, NOW).everything()
    async with system(port, Role.VIEWER) as client:
        held = (await client.get("/api/claims", params={"state": "held", "payer": SOUTH})).json()["claims"]
        assert {one["payerId"] for one in held} == {SOUTH}
        reviews = (await client.get("/api/reviews", params={"team": "REGISTRATION"})).json()["reviews"]
        assert {one["team"] for one in reviews} == {"REGISTRATION"}
        assert {one["state"] for one in reviews} == {ClaimState.IN_REVIEW}
        kpis = (await client.get("/api/kpis", params={"payer": NORTH})).json()
        assert len(kpis["kpis"]) == 7


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/api/claims?state=sleeping", "state"),
        ("/api/claims?limit=0", "limit"),
        ("/api/claims?after=nowhere", "after"),
        ("/api/claims?dueBefore=2026-01-01", "dueBefore"),
        ("/api/claims?colour=red", "colour"),
        ("/api/kpis?from=2999-01-01", "from"),
        ("/api/payers?state=OPEN", "state"),
    ],
)
async def test_a_question_that_cannot_be_read_is_refused_by_its_name(
    port: int, path: str, field: str
) -> None:
    async with system(port, Role.VIEWER) as client:
        answer = await client.get(path)
    assert (answer.status_code, answer.json()["field"]) == (400, field)


async def test_a_payer_is_paused_and_resumed_on_record(port: int, store: Store) -> None:
    await ConsoleScene(store, NOW).payer(NORTH, PayerState.CLOSED)
    async with system(port, Role.OPERATIONS) as client:
        paused = await client.post(f"/api/payers/{NORTH}/pause", json=BECAUSE)
        assert (paused.status_code, paused.json()["state"]) == (200, "PAUSED")
        assert "the ERP asks for it" in paused.json()["why"]
        resumed = await client.post(f"/api/payers/{NORTH}/resume", json=BECAUSE)
        assert resumed.json()["state"] == "CLOSED"
        nobody = await client.post("/api/payers/nobody/pause", json=BECAUSE)
        assert (nobody.status_code, nobody.json()["field"]) == (404, "payerId")
        without = await client.post(f"/api/payers/{NORTH}/pause", json={})
        assert (without.status_code, without.json()["field"]) == (400, "reason")
    order = await store.look(lambda tx: tx.orders.latest_of_payer(NORTH))
    assert order
    assert (order.action, order.ordered_by) == ("resume", "system:operations")


async def test_what_a_claims_state_does_not_allow_is_a_conflict(port: int, store: Store) -> None:
    claim = await ConsoleScene(store, NOW).received(NORTH)
    async with system(port, Role.BILLING_MANAGEMENT) as client:
        answer = await client.post(f"/api/claims/{claim}/retry-now", json=BECAUSE)
        assert (answer.status_code, claim in answer.json()["message"]) == (409, True)


async def test_a_claims_deadline_is_changed_on_record_and_what_is_wrong_is_named(
    port: int, stage: IntakeStage, store: Store
) -> None:
    claim = await ConsoleScene(store, NOW).waiting(NORTH, minutes=30, count=1)
    await store.run(
        lambda tx: tx.claims.move(claim, ClaimState.WAITING, now=NOW, process_instance_key=7, reason=None)
    )
    path = f"/api/claims/{claim}/deadline"
    async with system(port, Role.BILLING) as client:
        for wrong in ("2020-01-01T10:00", "soon"):
            refused = await client.post(path, json=BECAUSE | {"deadline": wrong})
            assert refused.status_code in (400, 422)
            assert refused.json()["field"] == "deadline"
            assert refused.json()["remedy"]
        changed = await client.post(path, json=BECAUSE | {"deadline": "2099-03-01T18:00"})
        assert (changed.status_code, changed.json()["deadline"]) == (200, "2099-03-01T21:00:00Z")
    assert [one.elementInstanceKey for one in stage.broker.set] == [7]
    [order] = await store.look(lambda tx: tx.orders.about_claim(claim))
    assert (order.ordered_by, order.action[:29]) == ("system:billing", "deadline 2099-03-01T21:00:00Z")


async def test_answers_are_what_the_description_says(port: int, store: Store) -> None:
    await ConsoleScene(store, NOW).everything()
    async with system(port, Role.VIEWER) as client:
        served = (await client.get("/api/openapi.json", headers={"Authorization": ""})).json()
        assert served == description()
        for one in OPERATIONS:
            if one.method == "GET" and "{" not in one.path:
                answer = (await client.get(one.path)).json()
                shape = {"$ref": f"#/components/schemas/{one.result.__name__}"}
                jsonschema.validate(answer, shape | {"components": served["components"]})
