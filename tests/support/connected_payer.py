"""Our client against the simulated payer over real HTTP."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gateways.clock import WallClock
from gateways.practice.simulator.scenario import Scenario
from gateways.practice.simulator.server import Listening, Simulator, simulated_payers
from gateways.tiss.client import TissClient
from gateways.tiss.validation import Schemas
from tests.support.tiss_client import open_client
from tests.support.tiss_samples import PAYER, payer

SCHEMAS = Schemas()


@dataclass(frozen=True, slots=True)
class ConnectedPayer:
    """A payer and our line to it."""

    simulator: Simulator
    client: TissClient

    @property
    def verdicts(self) -> list[str]:
        return [entry.verdict for entry in self.simulator.ledger.entries]


@asynccontextmanager
async def connected_payer(
    scenario: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    listening: Listening | None = None,
) -> AsyncIterator[ConnectedPayer]:
    """One payer by its scenario, one client by its settings."""
    played = Scenario.model_validate({"payers": [{"registro_ans": PAYER, **(scenario or {})}]})
    async with (
        simulated_payers(played, WallClock(), listening) as simulator,
        open_client(payer(f"{simulator.url}/{PAYER}", **settings or {}), SCHEMAS) as client,
    ):
        yield ConnectedPayer(simulator, client)


def always(**behaviour: object) -> dict[str, object]:
    """A payer that does the same to every request."""
    return {"rules": [{"then": behaviour}]}
