"""docs/security.md names tests that are there and are run, and leaves none of the attacks out."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ATTACKS = {file.name for file in (ROOT / "tests" / "security").glob("test_*.py")}
PATIENCE_SECONDS = 240
COLLECT = ("--collect-only", "-q", "--color=no", "-p", "no:cacheprovider", "-m", "long or not long")
NODE = re.compile(r"`((?:tests/[\w/]+/)?test_\w+\.py)::(\w+(?:::\w+)?)`")


def test_every_file_that_the_page_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+(?:\.py)?/?|test_\w+\.py)`", PAGE)
    missing = [name for name in named if not _place(name).exists()]
    assert (len(named) > 30, missing) == (True, [])


def test_every_attack_is_on_the_page() -> None:
    assert {name for name in ATTACKS if name not in PAGE} == set()


def test_every_threat_names_functions_that_prove_it() -> None:
    proofs = _proofs()
    assert set(proofs) == set(re.findall(r"^\| \*\*(.+?)\*\*", _section("Threat by threat"), re.MULTILINE))
    assert [threat for threat, text in proofs.items() if not NODE.search(text)] == []


def test_every_function_that_the_page_names_is_run() -> None:
    """As pytest itself collects it, for `make test` or for `make long`: .ci/run runs both."""
    named = {f"{_place(file).relative_to(ROOT)}::{function}" for file, function in NODE.findall(PAGE)}
    assert (len(named) > 60, named - _collected({name.partition("::")[0] for name in named})) == (True, set())


def _collected(files: set[str]) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *COLLECT, *sorted(files)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return {line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line}


def _proofs() -> dict[str, str]:
    """What stands under each threat."""
    parts = re.split(r"^- \*\*(.+?)\*\*$", _section("What proves it"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def _place(name: str) -> Path:
    return ROOT / name if "/" in name else ROOT / "tests" / "security" / name
