"""What a simulated payer sends back, and how it goes astray."""

from dataclasses import dataclass

from gateways.practice.simulator.scenario import Loss


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; with a `loss` it never arrives whole."""

    status: int
    body: bytes
    retry_after: int | None = None
    loss: Loss | None = None
    delay: float = 0
    is_http: bool = True
