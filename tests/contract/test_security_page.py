"""docs/security.md names tests that are there, and leaves none of the attacks out."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ATTACKS = {file.name for file in (ROOT / "tests" / "security").glob("test_*.py")}


def test_every_test_that_the_page_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+(?:\.py)?/?|test_\w+\.py)`", PAGE)
    missing = [name for name in named if not _place(name).exists()]
    assert (len(named) > 30, missing) == (True, [])


def test_every_attack_is_on_the_page() -> None:
    assert {name for name in ATTACKS if name not in PAGE} == set()


def _place(name: str) -> Path:
    return ROOT / name if "/" in name else ROOT / "tests" / "security" / name
