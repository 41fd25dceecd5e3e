"""What the hospital's rules say in their own words, for tests that must not leave a word out."""

import re
from pathlib import Path

_RULES = Path(__file__).parents[1] / "data" / "rules"


def audit_fields(rule: str) -> list[str]:
    """The fields of an audit record as the rule's section 7.1 shows it."""
    shown = (_RULES / f"{rule}-7.1.txt").read_text(encoding="utf-8")
    return re.findall(r'^\s*"(\w+)":', shown, flags=re.MULTILINE)
