"""Jobs as a hostile or clumsy process would hand them out, by seed."""

import json
import random
from typing import Any

from pyzeebe.proto.gateway_pb2 import ActivatedJob

from bpmn.names import JobType, Variable
from tests.fuzz.mutations import mutated
from tests.support.patients import CNS, CPF, ERROR, NAME

CLAIM = "CLM-999999-PREST0001-200000000001"
ODD = (
    *("", " ", "\u200b", "a\x00b", "a\udc80b", "\x1b[2J", "[/]", "x" * 70_000, "a\n" * 20_000),
    *("${jndi:ldap://127.0.0.1}", "' or 1=1 --", "PT0S", "P9999999999D"),
    *("9999-12-31T23:59:59+14:00", "0001-01-01T00:00:00-14:00", "2026-01-15T13:30:00Z"),
)
PERSONAL = (
    *(ERROR, CNS, f"Beneficiário {NAME.upper()} sem cobertura", f"TISS:{CPF}", "CID F32.1"),
    *(CPF.replace(".", "%2E"), CPF[:7] + "\n" + CPF[7:]),
)
TEXTS = (*ODD, *PERSONAL, "TIMEOUT", "HTTP_401", "INVALID_PATIENT_DATA", "RESEND", "CORRECTED")
VALUES: tuple[object, ...] = (
    *(None, True, False, 0, -1, 4, 5, 2**31, 2**63, -(2**70), 1e308, -0.0),
    *([], {}, [[[]]], {"a": {"b": 1}}, 10**30, float("nan"), float("-inf")),
)
TYPES = tuple(one.value for one in JobType)
"""Mail is asked for by lanes."""
HEADERS = ("profile", "maxRetries", "jitter", "baseMinutes", "claimIdForm", "maxRetires", "", "a b")


def foreign_job(seed: int) -> ActivatedJob:
    """A job of one of our types with variables and headers that nobody has checked."""
    rng = random.Random(seed)
    return ActivatedJob(
        key=2**52 + seed,
        type=rng.choice(TYPES),
        processInstanceKey=seed % 97 + 1,
        elementId="Task",
        retries=3,
        deadline=2**42,
        variables=_text(_variables(rng), rng),
        customHeaders=_text(_headers(rng), rng),
    )


def _variables(rng: random.Random) -> dict[str, Any]:
    usual: dict[str, Any] = {
        Variable.CLAIM_ID: CLAIM,
        Variable.PAYER_ID: "999999",
        Variable.RETRY_COUNT: rng.randrange(7),
        Variable.SUBMISSION_ERROR: rng.choice(TEXTS),
    }
    for name in rng.sample(tuple(Variable), rng.randrange(6)):
        usual[name] = _value(rng)
    return usual


def _value(rng: random.Random) -> object:
    match rng.randrange(6):
        case 0 | 1 | 2:
            return rng.choice(TEXTS)
        case 3:
            return _nested(rng.choice((1, 40, 900)))
        case _:
            return rng.choice(VALUES)


def _nested(depth: int) -> object:
    value: object = "deep"
    for _ in range(depth):
        value = [value]
    return value


def _headers(rng: random.Random) -> dict[str, object]:
    if rng.random() < 0.6:
        return {}
    return {rng.choice(HEADERS): rng.choice((*TEXTS, *VALUES)) for _ in range(rng.randrange(4))}


def _text(value: dict[str, Any], rng: random.Random) -> str:
    text = json.dumps(value)
    if rng.random() < 0.85:
        return text
    return mutated(text.encode(), rng.randrange(2**32)).decode("utf-8", "replace")
