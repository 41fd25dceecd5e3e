"""An in-process gateway that serves jobs as Zeebe does, and fails on demand."""

from tests.support.faults.cable import Cable, cable_to
from tests.support.faults.gateway import FaultyGateway, faulty_gateway
from tests.support.faults.kinds import (
    EVERYTHING,
    INTAKE,
    REPORTS,
    BreakStream,
    Delay,
    DeliverTwice,
    ExpireEarly,
    Fault,
    Hang,
    LoseAnswer,
    Method,
    Refuse,
    Rule,
    SlowStream,
)
from tests.support.faults.ledger import End, Ledger, Story

__all__ = [
    "EVERYTHING",
    "INTAKE",
    "REPORTS",
    "BreakStream",
    "Cable",
    "Delay",
    "DeliverTwice",
    "End",
    "ExpireEarly",
    "Fault",
    "FaultyGateway",
    "Hang",
    "Ledger",
    "LoseAnswer",
    "Method",
    "Refuse",
    "Rule",
    "SlowStream",
    "Story",
    "cable_to",
    "faulty_gateway",
]
