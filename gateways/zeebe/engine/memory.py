"""Sizes of memory as settings name them."""

import re

from gateways.zeebe.engine.errors import EngineError

_MEMORY = re.compile(r"(\d+)([mMgG])")
_MEGABYTES = {"m": 1, "g": 1024}


def megabytes(setting: str, name: str) -> int:
    """The size that a setting names."""
    found = _MEMORY.fullmatch(setting)
    if found is None:
        raise EngineError(f"{name} is {setting!r}: write it like 512m or 1g.")
    return int(found[1]) * _MEGABYTES[found[2].lower()]
