"""All faults of calls and deliveries at once, each at a small dose."""

import grpc

from tests.chaos.handlers import SECRET
from tests.support.faults import (
    EVERYTHING,
    INTAKE,
    REPORTS,
    BreakStream,
    Delay,
    DeliverTwice,
    ExpireEarly,
    Hang,
    LoseAnswer,
    Method,
    Refuse,
    Rule,
    SlowStream,
)

STATUSES = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.DEADLINE_EXCEEDED,
)
POLL, STREAM = frozenset({Method.ACTIVATE}), frozenset({Method.STREAM})
MIXED = (
    *(Rule(Refuse(status, f"refused for {SECRET}"), EVERYTHING, 0.005) for status in STATUSES),
    Rule(Delay(0.02), EVERYTHING, 0.05),
    Rule(LoseAnswer(), REPORTS, 0.05),
    Rule(LoseAnswer(), INTAKE, 0.02),
    Rule(Hang(), EVERYTHING, 0.001),
    Rule(DeliverTwice(), INTAKE, 0.05),
    Rule(ExpireEarly(0.1), INTAKE, 0.05),
    Rule(SlowStream(0.01), STREAM, 0.05),
    Rule(BreakStream(), STREAM, 0.005),
)
