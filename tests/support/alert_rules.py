"""The alerts in k8s/monitoring/rules, as tests look at them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
RULES = sorted((ROOT / "k8s" / "monitoring" / "rules").glob("*.yml"))
_SELECTOR = re.compile(r"\b([A-Za-z_]+)\{([^}]*)\}")
_LABEL = re.compile(r"(\w+)\s*(?:=~|!=|!~|=)\s*\"")
_GROUPED = re.compile(r"\b(?:by|without|on|ignoring|group_left)\s*\(([^)]*)\)")


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert: its query, and what it says."""

    name: str
    expr: str
    severity: str
    team: str
    annotations: dict[str, str]


@dataclass(frozen=True, slots=True)
class Selector:
    """A metric as a query names it, with the labels that it picks by."""

    metric: str
    labels: frozenset[str]


def alerts() -> list[Alert]:
    """Every alert of every file."""
    return [
        Alert(one["alert"], one["expr"], **one["labels"], annotations=one["annotations"])
        for file in RULES
        for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]
        for one in group["rules"]
    ]


def selectors(query: str) -> list[Selector]:
    """The metrics that a query asks for; ours are always asked for with the scrape job."""
    return [Selector(name, frozenset(_LABEL.findall(inner))) for name, inner in _SELECTOR.findall(query)]


def grouped_by(query: str) -> Iterator[str]:
    """The labels that a query groups by."""
    for inner in _GROUPED.findall(query):
        yield from (label.strip() for label in inner.split(",") if label.strip())


def other_words(query: str) -> set[str]:
    """What a query is made of beside selectors, labels and numbers: operators and functions."""
    rest = _GROUPED.sub("", _SELECTOR.sub("", query))
    return set(re.findall(r"[a-zA-Z_]{2,}", re.sub(r"\[[^]]*\]|offset \w+", "", rest)))


def quickened(rules: dict[str, Any], window: str, interval: str) -> dict[str, Any]:
    """The same rules for a test that cannot wait for hours: short windows, no waiting, looked at often."""
    groups = [
        group | {"interval": interval, "rules": [_quick(one, window) for one in group["rules"]]}
        for group in rules["groups"]
    ]
    return {"groups": groups}


def _quick(rule: dict[str, Any], window: str) -> dict[str, Any]:
    expr = re.sub(r"\[\d+[mh]\]", f"[{window}]", rule["expr"]).replace("> 1800", "> 1")
    return {**rule, "expr": re.sub(r"offset \d+[mh]", f"offset {window}", expr), "for": "0s"}
