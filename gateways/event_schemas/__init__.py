"""The schemas of the events on the stream: one JSON Schema per type, and one of the envelope around them."""

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

ENVELOPE = "envelope"
_SUFFIX = ".json"


def event_types() -> Sequence[str]:
    """Every type of event, by name."""
    files = (file.name for file in resources.files(__name__).iterdir())
    names = [name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX)]
    return sorted(name for name in names if name != ENVELOPE)


def schema_text(name: str) -> str:
    """The schema of one type's payload, or of the envelope, as it is shipped; KeyError for any other name."""
    if name not in (ENVELOPE, *event_types()):
        raise KeyError(name)
    return resources.files(__name__).joinpath(f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def schema(name: str) -> Mapping[str, Any]:
    """The same, read."""
    read: dict[str, Any] = json.loads(schema_text(name))
    return read
