"""A terminal that writes another encoding loses no letter of what a person said: it is refused."""

from pathlib import Path

import pytest

from tests.support.command_line import reenvio

TILDE, ACUTE = "n\udce3o pagar", "\udce9"
"""As Python reads the bytes of Latin-1 in a shell of UTF-8."""


@pytest.mark.parametrize(
    "arguments",
    [
        ("retention", "hold", "CLM-1-1", "--reason", TILDE),
        ("claim", "list", "--payer", ACUTE),
        ("audit", "show", "--payer", ACUTE),
        ("claim", "show", ACUTE),
        ("claim", "cancel", "CLM-1-1", "--yes", "--reason", TILDE),
        ("payer", "pause", ACUTE, "--yes", "--reason", "x"),
        ("claim", "submit", f"{ACUTE}.xml"),
        ("decide", "--claim-id", ACUTE),
        (ACUTE,),
    ],
    ids=" ".join,
)
def test_an_argument_that_is_no_text_is_refused_in_one_line(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = reenvio(tmp_path, *arguments)
    assert done.returncode == 2
    assert "is no text in UTF-8, and nothing was done" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
