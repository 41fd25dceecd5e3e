"""The demo's payers: their scenario for the simulator, and the payer settings by which they are reached."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gateways.practice.simulator.scenario import Outage, PayerScenario, Rule, Scenario
from gateways.tiss.names import Version
from workers.demo.samples import COAST, HILLS, NORTH, SOUTH, Sample

OUTAGE = timedelta(minutes=90)
MAINTENANCE = timedelta(minutes=45)
AS_FAST_AS_THEY_COME = 60_000
UNHURRIED = 20


@dataclass(frozen=True, slots=True)
class DemoPayer:
    """A payer; while it is `down`, `announced` or not, it answers nothing but HTTP 503."""

    payer_id: str
    registro_ans: str
    down: timedelta = timedelta(0)
    announced: bool = False
    per_minute: int = AS_FAST_AS_THEY_COME
    opens_after: int = 5


PAYERS = (
    DemoPayer(NORTH, "999001"),
    DemoPayer(SOUTH, "999002", down=OUTAGE, per_minute=UNHURRIED, opens_after=2),
    DemoPayer(COAST, "999003"),
    DemoPayer(HILLS, "999004", down=MAINTENANCE, announced=True),
)
REGISTRO = {payer.payer_id: payer.registro_ans for payer in PAYERS}


def scenario(samples: Sequence[Sample]) -> Scenario:
    """What the simulated payers will do, from the simulator's start on."""
    return Scenario(payers=tuple(_simulated(payer, samples) for payer in PAYERS))


def payers_file(url: str, start: datetime) -> str:
    """PAYERS_FILE for a simulator at an address."""
    return "\n".join(line for payer in PAYERS for line in _settings(payer, url, start))


def _simulated(payer: DemoPayer, samples: Sequence[Sample]) -> PayerScenario:
    return PayerScenario(
        registro_ans=payer.registro_ans,
        outages=(Outage(end=payer.down),) if payer.down else (),
        rules=tuple(
            rule for sample in samples if sample.payer_id == payer.payer_id for rule in _rules(sample)
        ),
    )


def _rules(sample: Sample) -> Iterator[Rule]:
    for arrival, answer in enumerate(sample.answers, start=1):
        yield Rule(lote=sample.batch, arrivals=(arrival,), then=answer)


def _settings(payer: DemoPayer, url: str, start: datetime) -> Iterator[str]:
    yield f"[payers.{payer.payer_id}]"
    yield f'registro_ans = "{payer.registro_ans}"'
    yield f'endpoint = "{url}/{payer.registro_ans}"'
    yield f'version = "{Version.V4_03_00}"'
    yield f"requests_per_minute = {payer.per_minute}"
    yield "at_once = 50"
    yield f"breaker = {{ failures = {payer.opens_after}, first_wait_minutes = 10 }}"
    if payer.announced:
        end = start + payer.down
        yield f"windows = [{{ start = {start.isoformat()}, end = {end.isoformat()} }}]"
    yield ""
