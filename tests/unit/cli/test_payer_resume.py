"""`reenvio payer resume` says what happens next: claims go, or one of them tries the credentials."""

from pathlib import Path

import pytest

from tests.support.command_line import reenvio
from tests.support.payers_file import payers_file

PAYERS = '[payers.999999]\nendpoint = "https://payer.example"\nversion = "4.03.00"\n'
LOGIN = 'login = "P1"\npassword_env = "SECRET"\n'


@pytest.mark.parametrize(
    ("login", "told"),
    [(LOGIN, "one claim tries the credentials now"), ("", "was not held: it takes claims as before")],
)
def test_credentials_that_must_prove_themselves_are_told(tmp_path: Path, login: str, told: str) -> None:
    file = payers_file(tmp_path, PAYERS + login)
    environment = {"PAYERS_FILE": str(file), "ZEEBE_ADDRESS": "localhost:1", "SECRET": "secret-1"}
    reenvio(tmp_path, "migrate")
    done = reenvio(tmp_path, "payer", "resume", "999999", "--reason", "x", **environment)
    assert (done.returncode, told in done.stdout) == (0, True), done.stdout + done.stderr
    assert ("restart every worker" in done.stdout) == bool(login)
