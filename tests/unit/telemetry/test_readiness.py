"""What /readyz says is a gauge: alerts look at it, since Prometheus asks for no other page."""

from domain.readings import Reading
from workers.app.measuring import readiness
from workers.app.telemetry.gauges import Gauges


async def test_a_worker_in_trouble_is_not_ready_and_is_again_when_it_is_over() -> None:
    trouble: list[str] = []

    async def database() -> str | None:
        return trouble[0] if trouble else None

    gauges = Gauges()
    gauges.add(readiness([database]))
    await gauges.refresh()
    assert list(gauges.of("reenvio_ready")) == [Reading("reenvio_ready", 1.0)]
    trouble.append("the database is away")
    await gauges.refresh()
    assert list(gauges.of("reenvio_ready")) == [Reading("reenvio_ready", 0.0)]
    trouble.clear()
    await gauges.refresh()
    assert list(gauges.of("reenvio_ready")) == [Reading("reenvio_ready", 1.0)]
