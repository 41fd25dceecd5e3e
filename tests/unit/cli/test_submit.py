"""Files are checked without an engine; what is wrong is one line each, and the exit code says so."""

from pathlib import Path

import pytest

from tests.support.command_line import reenvio
from tests.support.payers_file import payers_file
from tests.support.tiss_samples import CARD, PAYER, file_bytes, file_text

PAYERS = f'[payers.{PAYER}]\nendpoint = "https://payer.example"\nversion = "4.03.00"\n'


@pytest.fixture
def good(tmp_path: Path) -> str:
    file = tmp_path / "good.xml"
    file.write_bytes(file_bytes(file_text()))
    return str(file)


def test_a_good_file_is_said_to_be_good(tmp_path: Path, good: str) -> None:
    settings = str(payers_file(tmp_path, PAYERS))
    done = reenvio(tmp_path, "claim", "submit", "--dry-run", good, PAYERS_FILE=settings)
    expected = f"{good} is good, and would be CLM-{PAYER}-PREST0001-200000000001 for payer {PAYER}.\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


def test_several_files_end_in_a_summary_and_name_the_bad_ones(tmp_path: Path, good: str) -> None:
    bad = tmp_path / "bad.xml"
    bad.write_bytes(file_bytes(file_text().replace("<ans:UF>35</ans:UF>", "")))
    gone = str(tmp_path / "gone.xml")
    settings = str(payers_file(tmp_path, PAYERS))
    done = reenvio(tmp_path, "claim", "submit", "--dry-run", good, str(bad), gone, PAYERS_FILE=settings)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "3 files: 1 good, 2 refused."
    first, second = done.stderr.splitlines()
    assert first.startswith(f"{bad}: file: line ")
    assert "CBOS" in first
    assert CARD not in first
    assert second == f"{gone} cannot be opened (No such file or directory)."


@pytest.mark.parametrize(
    ("arguments", "environment", "advice"),
    [
        ([], {}, "PAYERS_FILE"),
        ([], {"PAYERS_FILE": "/nowhere.toml"}, "PAYERS_FILE"),
        (["--deadline", "soon"], {}, "deadline"),
        (["--claim-id", "12"], {}, "claimId"),
        (["--claim-id", "CLM-1-52998224725"], {}, "claimId: it holds a CPF"),
    ],
)
def test_what_cannot_be_is_one_line(
    tmp_path: Path, good: str, arguments: list[str], environment: dict[str, str], advice: str
) -> None:
    done = reenvio(tmp_path, "claim", "submit", "--dry-run", good, *arguments, **environment)
    assert done.returncode in (1, 2)
    assert advice in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_empty_folder_is_one_line(tmp_path: Path) -> None:
    done = reenvio(tmp_path, "claim", "submit", "--dry-run", str(tmp_path))
    assert (done.returncode, done.stderr) == (1, f"{tmp_path}: there is no .xml file in it.\n")


@pytest.mark.parametrize(
    ("environment", "advice"), [({}, "API_PORT"), ({"API_PORT": "0", "API_TOKENS": "short"}, "API_TOKENS")]
)
def test_the_http_interface_says_what_it_lacks(
    tmp_path: Path, environment: dict[str, str], advice: str
) -> None:
    done = reenvio(tmp_path, "api", **environment)
    assert done.returncode == 2
    assert advice in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_two_kinds_of_payers_at_once_are_refused(tmp_path: Path) -> None:
    both = {"PAYERS_FILE": "/a.toml", "PAYER_SCRIPT": "/b.json", "ZEEBE_ADDRESS": "localhost:1"}
    done = reenvio(tmp_path, "work", **both)
    assert done.returncode == 2
    assert "unset the one you do not mean" in done.stderr
