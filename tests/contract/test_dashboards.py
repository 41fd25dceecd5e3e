"""Alerts and dashboards ask for metrics that exist, by labels that they have."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.alert_rules import ROOT, Alert, alerts, grouped_by, other_words, selectors
from workers.app.telemetry.table import DOCUMENT_03, METRICS, RN_BIL_004, RN_BIL_005, Kind, Metric

FILES = sorted((ROOT / "k8s" / "monitoring" / "dashboards").glob("*.json"))
OPERATORS_PAGE = (ROOT / "docs" / "operator.md").read_text(encoding="utf-8")
BY_PROMETHEUS = {"up": set[str](), "ALERTS": {"alertname", "alertstate"}}
FROM_SCRAPING = {"job", "instance"}
PARTS = ("_bucket", "_sum", "_count")
OPERATORS = {
    "sum",
    "max",
    "min",
    "count",
    "rate",
    "increase",
    "last_over_time",
    "histogram_quantile",
    "absent",
    "and",
    "or",
    "unless",
}
DISTRIBUTIONS = (Kind.HISTOGRAM, Kind.SNAPSHOT)


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of a dashboard."""

    of: str
    body: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.of}: {self.body['title']}"

    @property
    def queries(self) -> list[str]:
        return [target["expr"] for target in self.body["targets"]]


def panels() -> Iterator[Panel]:
    for file in FILES:
        read = json.loads(file.read_text(encoding="utf-8"))["panels"]
        yield from (Panel(file.stem, body) for body in read if body["type"] != "row")


def metric_of(name: str) -> Metric:
    """The row of the table; the parts of a distribution are told by their ending."""
    for part in PARTS:
        whole = METRICS.get(name.removesuffix(part))
        if name.endswith(part) and whole and whole.kind in DISTRIBUTIONS:
            return whole
    assert name in METRICS, f"{name} is no metric of the table"
    assert METRICS[name].kind not in DISTRIBUTIONS, f"{name} has parts: which?"
    return METRICS[name]


def check(query: str) -> None:
    """Every metric is in the table, every label is one of its metrics', and the scrape job is named."""
    known = set[str]()
    asked = selectors(query)
    assert asked
    assert other_words(query) <= OPERATORS, "a metric without its job?"
    for one in asked:
        if one.metric in BY_PROMETHEUS:
            labels = BY_PROMETHEUS[one.metric]
        else:
            metric = metric_of(one.metric)
            labels = {*metric.labels, *(("le",) if one.metric.endswith("_bucket") else ())}
            assert "job" in one.labels, f"{one.metric} of any job"
        assert one.labels <= labels | FROM_SCRAPING, f"{one.metric} has no {one.labels - labels}"
        known |= labels
    assert set(grouped_by(query)) <= known | FROM_SCRAPING


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_an_alert_asks_for_what_exists_and_says_what_it_means(alert: Alert) -> None:
    check(alert.expr)
    assert alert.severity in ("info", "warning", "critical")
    assert f"| `{alert.team}` |" in OPERATORS_PAGE, "a team that nobody is told how to route to"
    assert alert.annotations["summary"]
    assert alert.annotations["description"]


@pytest.mark.parametrize("panel", list(panels()), ids=str)
def test_a_panel_asks_for_what_exists(panel: Panel) -> None:
    for query in panel.queries:
        check(query)


@pytest.mark.parametrize("panel", list(panels()), ids=str)
def test_a_panel_says_what_it_shows(panel: Panel) -> None:
    assert panel.body["title"]
    assert panel.body["description"].endswith(".")
    assert panel.body["fieldConfig"]["defaults"]["unit"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_dashboard_is_bound_to_no_data_source_of_one_installation(file: Any) -> None:
    read = json.loads(file.read_text(encoding="utf-8"))
    assert [one["type"] for one in read["templating"]["list"] if one["name"] == "datasource"] == [
        "datasource"
    ]
    assert set(_sources(read)) == {"${datasource}"}
    numbers = [panel["id"] for panel in read["panels"]]
    assert len(numbers) == len(set(numbers))


def _sources(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "datasource" in node:
            yield node["datasource"]["uid"]
        for inner in node.values():
            yield from _sources(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _sources(inner)


def test_every_metric_of_the_documents_is_shown() -> None:
    shown = {one.metric for panel in panels() for query in panel.queries for one in selectors(query)}
    plain = {metric_of(name).name for name in shown if name not in BY_PROMETHEUS}
    assert {one.name for one in (*RN_BIL_004, *RN_BIL_005, *DOCUMENT_03)} - plain == set()
