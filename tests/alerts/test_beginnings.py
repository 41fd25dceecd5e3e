"""What an alert counts by its rise is there from the beginning: a series that begins with its first event
has not risen.
"""

import re

import pytest

from tests.support.alert_rules import Alert, alerts, selectors
from tests.support.scraped import read_scrape
from workers.app.telemetry.metering import job_metering
from workers.app.telemetry.table import METRICS
from workers.config.settings import Settings
from workers.policy import PolicySource

RISING = re.compile(r"(?:increase|rate)\(([a-z_0-9]+)\{")
OF_THE_RELAY = {"reenvio_redis_rejected_connections_total", "reenvio_events_set_aside_total"}
"""Redis counts by itself; the relay's begins with the relay (test_relay_metrics)."""


@pytest.fixture(scope="module")
def beginning() -> dict[str, set[str]]:
    """The labels of all that a fresh worker shows, by name."""
    metering = job_metering(Settings(), ["sul"], PolicySource().current().catalog)
    samples = read_scrape(metering.metrics.exposition().decode()).samples
    found: dict[str, set[str]] = {}
    for name, labels in samples:
        found.setdefault(name, set()).update(label for label, _value in labels)
    return found


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_what_an_alert_sees_rise_is_shown_before_anything_happens(
    alert: Alert, beginning: dict[str, set[str]]
) -> None:
    rising = set(RISING.findall(alert.expr)) - OF_THE_RELAY
    assert {name for name in rising if name not in beginning} == set()
    for one in selectors(alert.expr):
        if one.metric in rising:
            assert one.labels - {"job"} <= beginning[one.metric]


def test_what_alerts_look_for_are_metrics_of_the_table() -> None:
    rising = {name for alert in alerts() for name in RISING.findall(alert.expr)}
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in rising} <= set(METRICS)
