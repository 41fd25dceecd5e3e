"""Who reads which gauges in a worker's process."""

from collections.abc import Sequence

from workers.app.composition import App
from workers.app.telemetry.gauges import GaugeSource
from workers.upkeep.kpis import kpi_readings


def gauge_sources(app: App) -> Sequence[GaugeSource]:
    """All of them; each reads metrics of the table under their names there."""
    return (GaugeSource("kpis", lambda: kpi_readings(app.store), every_seconds=60),)
