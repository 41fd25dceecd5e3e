"""The contenders' names, as the table and `--only` write them."""

from enum import StrEnum


class Name(StrEnum):
    """Who is measured."""

    PYZEEBE_DEFAULTS = "pyzeebe-defaults"
    PYZEEBE_TUNED = "pyzeebe-tuned"
    PYZEEBE_GENTLE = "pyzeebe-gentle"
    JAVA_POLLING = "java-polling"
    JAVA_STREAMING = "java-streaming"
    OURS = "reenvio"
    ANSWER = "reenvio-answer"
    DECISION_SQLITE = "reenvio-decision-sqlite"
    DECISION_POSTGRESQL = "reenvio-decision-postgresql"
    TELEMETRY_OFF = "reenvio-telemetry-off"
    METRICS_ON = "reenvio-metrics-on"
    TELEMETRY_ON = "reenvio-telemetry-on"


TELEMETRY = (Name.TELEMETRY_OFF, Name.METRICS_ON, Name.TELEMETRY_ON)
"""The same decision on SQLite: watched by nobody, counted, and counted, traced and logged."""
USUAL = tuple(name for name in Name if name not in TELEMETRY)


IN_WORDS = {
    Name.PYZEEBE_DEFAULTS: "pyzeebe, defaults",
    Name.PYZEEBE_TUNED: "pyzeebe, tuned",
    Name.PYZEEBE_GENTLE: "pyzeebe, tuned gently",
    Name.JAVA_POLLING: "Java client, polling",
    Name.JAVA_STREAMING: "Java client, streaming",
    Name.OURS: "Reenvio, no-op",
    Name.ANSWER: "Reenvio, a decision's answer",
    Name.DECISION_SQLITE: "Reenvio, decision on SQLite",
    Name.DECISION_POSTGRESQL: "Reenvio, decision on PostgreSQL",
    Name.TELEMETRY_OFF: "Reenvio, telemetry off",
    Name.METRICS_ON: "Reenvio, metrics",
    Name.TELEMETRY_ON: "Reenvio, metrics, traces, logs",
}
