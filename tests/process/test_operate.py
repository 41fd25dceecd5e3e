"""The real Operate and Tasklist on a real OpenSearch: what happens in the broker is seen there, and kept."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from pyzeebe.proto import gateway_pb2 as pb
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from gateways.engine_clock import EngineClock
from gateways.zeebe import engine, operate
from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from gateways.zeebe.engine import EngineConfig, RunningEngine, SilentReporter
from gateways.zeebe.operate.search import live_node
from tests.support.broker import any_ports
from tests.support.waiting import eventually
from workers.config.settings import read_settings

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

SECONDS = 120
JOB_TYPE = "operate-test"
MODEL = f"""<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="http://bpmn.io/schema/bpmn">
  <bpmn:process id="OPERATE_TEST" isExecutable="true">
    <bpmn:startEvent id="Start"/>
    <bpmn:sequenceFlow id="Flow_1" sourceRef="Start" targetRef="Task_Work"/>
    <bpmn:serviceTask id="Task_Work">
      <bpmn:extensionElements><zeebe:taskDefinition type="{JOB_TYPE}"/></bpmn:extensionElements>
    </bpmn:serviceTask>
    <bpmn:sequenceFlow id="Flow_2" sourceRef="Task_Work" targetRef="Task_Decide"/>
    <bpmn:userTask id="Task_Decide"/>
    <bpmn:sequenceFlow id="Flow_3" sourceRef="Task_Decide" targetRef="End"/>
    <bpmn:endEvent id="End"/>
  </bpmn:process>
</bpmn:definitions>
"""


@pytest.fixture
def config(tmp_path: Path) -> Iterator[EngineConfig]:
    """An engine with a home and ports of its own; its files come from the shared cache."""
    config = replace(read_settings().engine.config(), home=tmp_path / "a home with spaces", ports=any_ports())
    yield config
    operate.stop(config)


@dataclass(frozen=True, slots=True)
class Pages:
    """Operate and Tasklist as a person of ours sees them, and the broker beside them."""

    http: httpx.AsyncClient
    gateway: Any

    async def instance(self) -> int:
        created = await self.gateway.CreateProcessInstance(
            pb.CreateProcessInstanceRequest(bpmnProcessId="OPERATE_TEST", version=-1, variables="{}")
        )
        return int(created.processInstanceKey)

    async def deploy(self) -> None:
        model = pb.Resource(name="OPERATE_TEST.bpmn", content=MODEL.encode())
        await self.gateway.DeployResource(pb.DeployResourceRequest(resources=[model]))

    async def job(self) -> int:
        """One job, taken in hand."""
        asked = pb.ActivateJobsRequest(
            type=JOB_TYPE, worker="test", timeout=600_000, maxJobsToActivate=1, requestTimeout=20_000
        )
        jobs = [job async for answer in self.gateway.ActivateJobs(asked) for job in answer.jobs]
        return int(jobs.pop().key)

    async def fail(self, message: str) -> int:
        job = await self.job()
        await self.gateway.FailJob(pb.FailJobRequest(jobKey=job, retries=0, errorMessage=message))
        return job

    async def incidents(self, state: str) -> list[dict[str, Any]]:
        return await self.search("/v1/incidents/search", {"filter": {"state": state}})

    async def is_incident(self, message: str, state: str = "ACTIVE") -> bool:
        return message in [incident["message"] for incident in await self.incidents(state)]

    async def are_incidents(self, *messages: str) -> bool:
        return {incident["message"] for incident in await self.incidents("ACTIVE")}.issuperset(messages)

    async def has_task(self, instance: int) -> bool:
        answer = await self.http.post("/v1/tasks/search", json={"state": "CREATED"})
        return str(instance) in [task["processInstanceKey"] for task in answer.raise_for_status().json()]

    async def search(self, path: str, asked: dict[str, Any]) -> list[dict[str, Any]]:
        answer = await self.http.post(path, json=asked)
        items: list[dict[str, Any]] = answer.raise_for_status().json()["items"]
        return items


async def login(http: httpx.AsyncClient, user: str, password: str) -> int:
    """Come in, if the password is right, and show what proves it from then on."""
    answer = await http.post("/api/login", params={"username": user, "password": password})
    http.headers.update({"X-CSRF-TOKEN": answer.headers.get("X-CSRF-TOKEN", "")})
    return answer.status_code


@asynccontextmanager
async def pages(config: EngineConfig, running: RunningEngine) -> AsyncIterator[Pages]:
    password = operate.OperateFiles(config).password_file.read_text().strip()
    async with (
        httpx.AsyncClient(base_url=running.rest_url, trust_env=False, timeout=30) as http,
        open_channel(Plaintext(running.grpc_address)) as channel,
    ):
        assert await login(http, operate.USER, password) == httpx.codes.NO_CONTENT
        yield Pages(http, GatewayStub(channel))


def processes(config: EngineConfig, running: RunningEngine) -> list[psutil.Process]:
    node = live_node(config)
    assert node is not None
    return [psutil.Process(running.pid), psutil.Process(node.pid)]


async def test_incidents_and_user_tasks_are_seen_and_outlive_every_part(config: EngineConfig) -> None:
    running = operate.start(config, SilentReporter())
    everything = processes(config, running)
    assert listening_elsewhere(everything) == []
    async with pages(config, running) as seen:
        await open_to_nobody_else(running)
        assert "<!doctype html>" in (await seen.http.get("/operate")).text.lower()
        assert "<!doctype html>" in (await seen.http.get("/tasklist")).text.lower()
        await seen.deploy()
        await an_incident_is_seen_mended_and_goes_on_to_a_task(seen)
        await after_hours_that_passed_at_once(seen, running)
    assert operate.stop(config) is True
    assert [process.pid for process in everything if psutil.pid_exists(process.pid)] == []
    running = operate.start(config, SilentReporter())
    async with pages(config, running) as seen:
        assert await seen.is_incident("after four hours")
        await a_dead_opensearch_is_mended_and_misses_nothing(config, seen)


def listening_elsewhere(all_parts: list[psutil.Process]) -> list[str]:
    sockets = [socket for process in all_parts for socket in process.net_connections("tcp")]
    addresses = {socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN}
    return sorted(addresses - {"127.0.0.1", "::ffff:127.0.0.1"})


async def open_to_nobody_else(running: RunningEngine) -> None:
    async with httpx.AsyncClient(base_url=running.rest_url, trust_env=False, timeout=30) as stranger:
        for user in ("demo", "act", "view"):
            assert await login(stranger, user, user) == httpx.codes.UNAUTHORIZED
        assert (await stranger.post("/v1/incidents/search", json={})).status_code == httpx.codes.FORBIDDEN


async def an_incident_is_seen_mended_and_goes_on_to_a_task(seen: Pages) -> None:
    instance = await seen.instance()
    job = await seen.fail("the payer's certificate has expired")
    await eventually(lambda: seen.is_incident("the payer's certificate has expired"), SECONDS)
    [incident] = await seen.incidents("ACTIVE")
    assert incident["processInstanceKey"] == instance
    await seen.gateway.UpdateJobRetries(pb.UpdateJobRetriesRequest(jobKey=job, retries=1))
    await seen.gateway.ResolveIncident(pb.ResolveIncidentRequest(incidentKey=incident["key"]))
    await seen.gateway.CompleteJob(pb.CompleteJobRequest(jobKey=await seen.job(), variables="{}"))
    await eventually(lambda: seen.has_task(instance), SECONDS)
    await eventually(lambda: seen.is_incident("the payer's certificate has expired", "RESOLVED"), SECONDS)


async def after_hours_that_passed_at_once(seen: Pages, running: RunningEngine) -> None:
    await EngineClock(running.management_url).advance(timedelta(hours=4))
    await seen.instance()
    await seen.fail("after four hours")
    await eventually(lambda: seen.is_incident("after four hours"), SECONDS)


async def a_dead_opensearch_is_mended_and_misses_nothing(config: EngineConfig, seen: Pages) -> None:
    node = live_node(config)
    assert node is not None
    psutil.Process(node.pid).kill()
    psutil.Process(node.pid).wait(10)
    await seen.instance()
    await seen.fail("while OpenSearch was dead")
    operate.start(config, SilentReporter())
    await eventually(lambda: seen.is_incident("while OpenSearch was dead"), SECONDS)


async def test_an_engine_that_was_without_operate_meanwhile_begins_anew_with_it(config: EngineConfig) -> None:
    running = operate.start(config, SilentReporter())
    async with pages(config, running) as seen:
        await seen.deploy()
        await seen.instance()
        await seen.fail("before")
        await eventually(lambda: seen.is_incident("before"), SECONDS)
    operate.stop(config)
    operate.leave(config)
    plain = engine.start(config, SilentReporter())
    async with open_channel(Plaintext(plain.grpc_address)) as channel:
        alone = Pages(httpx.AsyncClient(), GatewayStub(channel))
        await alone.instance()
        await alone.fail("meanwhile")
    engine.stop(config)
    async with pages(config, operate.start(config, SilentReporter())) as seen:
        await seen.instance()
        await seen.fail("after")
        await eventually(lambda: seen.are_incidents("before", "meanwhile", "after"), SECONDS)
