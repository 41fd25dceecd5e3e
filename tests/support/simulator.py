"""A simulated payer without a network: bytes in, answer out."""

import random
from datetime import timedelta

from gateways.practice.simulator.answer import Answer
from gateways.practice.simulator.ledger import Ledger
from gateways.practice.simulator.payer import SimulatedPayer, SimulatorParts
from gateways.practice.simulator.scenario import PayerScenario
from gateways.tiss.lote import Lote
from gateways.tiss.messages import Batch, cancel_message, envelope, lote_message, seal, status_message
from gateways.tiss.names import Encoding, TransactionKind, Version
from gateways.tiss.validation import Schemas
from tests.support.tiss_samples import NOW, PAYER, PROVIDER, header, lote

SCHEMAS = Schemas()


class OfflinePayer:
    """One simulated payer on a clock that the test moves."""

    def __init__(self, ledger: Ledger | None = None, /, **scenario: object) -> None:
        played = PayerScenario.model_validate({"registro_ans": PAYER} | scenario)
        self.ledger = ledger or Ledger()
        self.version = played.version
        self.payer = SimulatedPayer(played, SimulatorParts(self.ledger, SCHEMAS, random.Random(1), NOW))
        self.now = NOW

    def wait(self, **time: float) -> None:
        self.now += timedelta(**time)

    def send(self, number: str = "1", first: int = 1) -> Answer:
        return self.hand_in(batch(lote(number, first=first), self.version))

    def ask(self, protocol: str) -> Answer:
        message = status_message(header(TransactionKind.ASK_STATUS, version=self.version), PROVIDER, protocol)
        return self.hand_in(envelope(seal(message, "iso-8859-1"), "iso-8859-1"))

    def cancel(self, number: str, protocol: str | None = None) -> Answer:
        which = Batch(number, protocol)
        message = cancel_message(header(TransactionKind.CANCEL, version=self.version), PROVIDER, which)
        return self.hand_in(envelope(seal(message, "iso-8859-1"), "iso-8859-1"))

    def hand_in(self, body: bytes) -> Answer:
        return self.payer.answer(body, self.now)

    @property
    def verdicts(self) -> list[str]:
        return [entry.verdict for entry in self.ledger.entries]


def batch(of: Lote, version: Version = Version.V4_03_00, encoding: Encoding = "iso-8859-1") -> bytes:
    """A batch as it arrives."""
    return envelope(seal(lote_message(header(version=version), of), encoding), "iso-8859-1")
