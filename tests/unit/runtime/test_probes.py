"""What the probes say: alive while the loops move, ready while the gateway answers."""

import httpx
import pytest

from workers.app.http_server import PortError
from workers.app.probes import probes, serving_probes
from workers.runtime.events import GatewayAnswered, GatewayFailed
from workers.runtime.health import Health, Heartbeat


class Time:
    """A hand-moved monotonic clock."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def health(time: Time) -> Health:
    return Health(stalled_after=60, silent_after=30, seconds=time)


def test_a_heartbeat_ages_until_it_beats(time: Time) -> None:
    heartbeat = Heartbeat(time)
    time.now += 5
    assert heartbeat.age == 5
    heartbeat.beat()
    assert heartbeat.age == 0


def test_a_loop_that_stops_moving_is_named(health: Health, time: Time) -> None:
    moving, stuck = health.loop("poll a"), health.loop("poll b")
    time.now += 61
    moving.beat()
    assert health.stalled() == ["poll b"]
    stuck.beat()
    assert health.stalled() == []


def test_ready_only_after_the_gateway_answered_and_while_it_does(health: Health, time: Time) -> None:
    assert (health.not_ready() or "").startswith("the gateway does not answer: see")
    health.note(GatewayFailed("a", "poll", "UNAVAILABLE", 1.0))
    assert health.not_ready()
    health.note(GatewayAnswered())
    assert health.not_ready() is None
    time.now += 31
    assert (health.not_ready() or "").startswith("the gateway does not answer: see")


def test_a_stopping_worker_is_not_ready(health: Health) -> None:
    health.note(GatewayAnswered())
    health.stopping = True
    assert health.not_ready() == "stopping"


async def test_the_probes_answer_over_http(health: Health, time: Time) -> None:
    health.loop("poll a")

    async def database_is_away() -> str | None:
        return "the database is away" if time.now < 200 else None

    app = probes(health, [database_is_away])
    async with serving_probes(app, "127.0.0.1", 0) as port, httpx.AsyncClient(trust_env=False) as client:
        base = f"http://127.0.0.1:{port}"
        assert (await client.get(f"{base}/livez")).status_code == 200
        assert (await client.get(f"{base}/readyz")).status_code == 503
        health.note(GatewayAnswered())
        assert (await client.get(f"{base}/readyz")).text == "the database is away"
        time.now = 200.0
        health.note(GatewayAnswered())
        assert (await client.get(f"{base}/readyz")).text == "ok"
        stalled = await client.get(f"{base}/livez")
        assert stalled.status_code == 503
        assert "poll a" in stalled.text
        assert (await client.get(f"{base}/metrics")).status_code == 200


async def test_a_taken_port_is_told_in_one_line(health: Health) -> None:
    async with serving_probes(probes(health), "127.0.0.1", 0) as port:
        with pytest.raises(PortError, match="choose another HEALTH_PORT"):
            async with serving_probes(probes(health), "127.0.0.1", port):
                pass
