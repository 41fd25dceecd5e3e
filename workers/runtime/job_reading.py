"""Reads a job from the gateway's message, whatever it holds."""

import json
from typing import Any

from pyzeebe.proto.gateway_pb2 import ActivatedJob

from workers.runtime.job import Job

JSON_MAX = 131_072
"""How many characters of JSON a job's variables, or its headers, may have. The engine allows 4 MB, which
keeps the event loop busy for most of a second; of the longest text that we read we keep 16,384 characters,
98,304 when each is written as an escape, and all else are references."""
LARGE = 16_384
"""Jobs of more than so many characters are read one per turn of the event loop."""


def read_job(activated: ActivatedJob) -> Job:
    """A job from the gateway's message, whatever it holds: what cannot be read becomes the job's fault."""
    try:
        headers = _headers(_object(activated.customHeaders, "task headers"))
        variables, fault = _object(activated.variables, "process variables"), None
    except _UnreadableError as unreadable:
        headers, variables, fault = {}, {}, f"{activated.type}: {unreadable}"
    return Job(
        key=activated.key,
        type=activated.type,
        element_id=activated.elementId,
        process_instance_key=activated.processInstanceKey,
        retries=activated.retries,
        headers=headers,
        variables=variables,
        deadline=activated.deadline / 1000,
        element_instance_key=activated.elementInstanceKey,
        fault=fault,
    )


def is_large(activated: ActivatedJob) -> bool:
    """Whether reading the job takes so long that the event loop should have a turn after it."""
    return len(activated.variables) + len(activated.customHeaders) > LARGE


class _UnreadableError(Exception):
    """One line without a word of the content."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"the {what} cannot be read ({why}). Correct them in Operate, then retry.")


def _object(text: str, what: str) -> dict[str, Any]:
    if len(text) > JSON_MAX:
        raise _UnreadableError(what, f"{len(text):,} characters, at most {JSON_MAX:,} are read")
    try:
        read = json.loads(text or "{}")
    except RecursionError:
        raise _UnreadableError(what, "nested too deeply") from None
    except ValueError:
        raise _UnreadableError(what, "not JSON") from None
    if not isinstance(read, dict):
        raise _UnreadableError(what, "not a JSON object")
    return read


def _headers(read: dict[str, Any]) -> dict[str, str]:
    if not all(isinstance(value, str) for value in read.values()):
        raise _UnreadableError("task headers", "a value is not a text")
    return read
