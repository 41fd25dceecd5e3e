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
def vitals(time: Time) -> Health:
    return Health(stalled_after=60, silent_after=30, seconds=time)


def test_a_pulse_ages_until_it_beats(time: Time) -> None:
    pulse = Heartbeat(time)
    time.now += 5
    assert pulse.age == 5
    pulse.beat()
    assert pulse.age == 0


def test_a_loop_that_stops_moving_is_named(vitals: Health, time: Time) -> None:
    moving, stuck = vitals.loop("poll a"), vitals.loop("poll b")
    time.now += 61
    moving.beat()
    assert vitals.stalled() == ["poll b"]
    stuck.beat()
    assert vitals.stalled() == []


def test_ready_only_after_the_gateway_answered_and_while_it_does(vitals: Health, time: Time) -> None:
    assert vitals.not_ready() == "the gateway does not answer"
    vitals.hear(GatewayFailed("a", "poll", "UNAVAILABLE", 1.0))
    assert vitals.not_ready()
    vitals.hear(GatewayAnswered())
    assert vitals.not_ready() is None
    time.now += 31
    assert vitals.not_ready() == "the gateway does not answer"


def test_a_stopping_worker_is_not_ready(vitals: Health) -> None:
    vitals.hear(GatewayAnswered())
    vitals.stopping = True
    assert vitals.not_ready() == "stopping"


async def test_the_probes_answer_over_http(vitals: Health, time: Time) -> None:
    vitals.loop("poll a")

    async def database_is_away() -> str | None:
        return "the database is away" if time.now < 200 else None

    app = probes(vitals, [database_is_away])
    async with serving_probes(app, "127.0.0.1", 0) as port, httpx.AsyncClient(trust_env=False) as client:
        base = f"http://127.0.0.1:{port}"
        assert (await client.get(f"{base}/livez")).status_code == 200
        assert (await client.get(f"{base}/readyz")).status_code == 503
        vitals.hear(GatewayAnswered())
        assert (await client.get(f"{base}/readyz")).text == "the database is away"
        time.now = 200.0
        vitals.hear(GatewayAnswered())
        assert (await client.get(f"{base}/readyz")).text == "ok"
        stalled = await client.get(f"{base}/livez")
        assert stalled.status_code == 503
        assert "poll a" in stalled.text
        assert (await client.get(f"{base}/metrics")).status_code == 200


async def test_a_taken_port_is_told_in_one_line(vitals: Health) -> None:
    async with serving_probes(probes(vitals), "127.0.0.1", 0) as port:
        with pytest.raises(PortError, match="choose another HEALTH_PORT"):
            async with serving_probes(probes(vitals), "127.0.0.1", port):
                pass
