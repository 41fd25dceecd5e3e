"""What a scrape of /metrics found."""

import re
import socket
from dataclasses import dataclass, field

import httpx

_SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Scrape:
    """Samples by name and labels."""

    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)

    def value(self, name: str, **labels: str) -> float | None:
        """One sample's value, or None."""
        return self.samples.get((name, frozenset(labels.items())))

    def of(self, name: str) -> dict[Labels, float]:
        """All samples of a name."""
        return {labels: value for (found, labels), value in self.samples.items() if found == name}

    @property
    def names(self) -> set[str]:
        """All names, those of histograms without the ends of their samples."""
        families = {name for name, kind in self.types.items() if kind == "histogram"}
        found = {name for name, _ in self.samples}
        parts = {f"{family}{end}": family for family in families for end in ("_bucket", "_sum", "_count")}
        return {parts.get(name, name) for name in found}


def read_scrape(text: str) -> Scrape:
    """The text of /metrics, read."""
    scrape = Scrape(types=dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)))
    for line in text.splitlines():
        if match := _SAMPLE.match(line):
            labels = frozenset(_LABEL.findall(match[2] or ""))
            scrape.samples[match[1], labels] = float(match[3])
    return scrape


async def scrape(port: int) -> Scrape:
    """Ask a process for its metrics, as Prometheus does."""
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        answer = await client.get(f"http://127.0.0.1:{port}/metrics")
    answer.raise_for_status()
    return read_scrape(answer.text)


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
    return port
