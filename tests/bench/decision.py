"""How long one decision takes, beside the rule written down literally: `python -m tests.bench.decision`."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from statistics import median, quantiles
from time import perf_counter, perf_counter_ns

from rich.console import Console
from rich.table import Table

from domain.decision import Retry, decide
from domain.inputs import read_request
from domain.outputs import bpmn_error, output_variables
from workers.policy import load_policy

ROUNDS = 20_000
MEGABYTE = 1_000_000
NOW = datetime(2025, 1, 12, 10, 40, tzinfo=UTC)
POLICY = load_policy()
ERRORS = {
    "transient word": "TIMEOUT - Connection timeout after 30s",
    "permanent word": "INVALID_PATIENT_DATA - CPF inválido",
    "unknown text": "something nobody has seen before",
    "labelled code": "payer answered HTTP 503 Service Unavailable",
    "text to redact": "HTTP 500: nomeBeneficiario=Maria da Silva; CPF 529.982.247-25 refused, lote 123456",
}
HOSTILE = {
    "digits": "1",
    "digits and blanks": "1 ",
    "opening tags": "<nome>",
    "escaped tags": "&lt;nome&gt;",
    "field names": "nomecpf ",
    "claim ids": "CLM-",
    "mail signs": "a@",
    "HTTP labels": "HTTP status ",
    "TISS labels": "codigo da glosa ",
    "quotes": "nome='",
    "underscores": "_",
    "accents": "ã",
}

Variables = dict[str, object]


def whole_decision(variables: Variables) -> Variables:
    """What the worker does: validate, decide, write the outputs."""
    decision = decide(read_request(variables, POLICY), POLICY, NOW)
    if isinstance(decision, Retry):
        return output_variables(decision, POLICY.profile)
    return bpmn_error(decision).variables


def literal_rule(variables: Variables) -> Variables:
    """RN-BIL-004 as written: substrings, a drawn jitter, no redaction, no structure, no record of why."""
    count, error = int(str(variables["retryCount"])), str(variables["submissionError"]).upper()
    permanent = ("INVALID_PATIENT_DATA", "INSURANCE_EXPIRED", "AUTHORIZATION_DENIED", "DUPLICATE_CLAIM")
    if count >= 5 or any(word in error for word in (*permanent, "INVALID_PROCEDURE_CODE")):
        return {"shouldRetry": False}
    backoff = min(5 * 2**count, 240)
    minutes = max(backoff + random.uniform(-0.2, 0.2) * backoff, 5)
    return {
        "shouldRetry": True,
        "nextRetryTime": (NOW + timedelta(minutes=minutes)).isoformat(),
        "retryCount": count + 1,
        "retryReason": f"Retry {count + 1} of 5",
        "backoffMinutes": int(minutes),
    }


def micros(work: Callable[[Variables], object], error: str) -> list[float]:
    """The time of each of many calls, in microseconds, for different claims."""
    times = []
    for number in range(ROUNDS):
        claim = f"CLM-ENC-001-{number}"
        variables: Variables = {"claimId": claim, "submissionError": error, "retryCount": number % 5}
        start = perf_counter_ns()
        work(variables)
        times.append((perf_counter_ns() - start) / 1_000)
    return times


def decisions_table() -> Table:
    """Time per decision for each kind of error."""
    table = Table(title=f"One decision, microseconds ({ROUNDS} calls each)", title_justify="left")
    for name in ("error", "median", "99 %", "per second", "literal rule, median", "ratio"):
        table.add_column(name, justify="left" if name == "error" else "right")
    for name, error in ERRORS.items():
        ours, literal = micros(whole_decision, error), median(micros(literal_rule, error))
        middle, last = median(ours), quantiles(ours, n=100)[98]
        table.add_row(
            name,
            f"{middle:.1f}",
            f"{last:.1f}",
            f"{1e6 / middle:,.0f}",
            f"{literal:.1f}",
            f"{middle / literal:.1f}",
        )
    return table


def hostile_table() -> Table:
    """Time for inputs of a megabyte that try to make a regular expression run away."""
    table = Table("a megabyte of", "milliseconds", title="Hostile inputs", title_justify="left")
    for name, unit in HOSTILE.items():
        error = (unit * (MEGABYTE // len(unit) + 1))[:MEGABYTE]
        start = perf_counter()
        whole_decision({"claimId": "CLM-1-1", "submissionError": error, "retryCount": 0})
        table.add_row(name, f"{(perf_counter() - start) * 1e3:.1f}")
    return table


def main() -> None:
    """Print both tables."""
    console = Console()
    console.print(decisions_table())
    console.print(hostile_table())


if __name__ == "__main__":
    main()
