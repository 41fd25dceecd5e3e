"""Every line is what LOG_FORMAT says, whoever writes it and whatever it holds."""

import json
import os
import subprocess
import sys

import pytest

PATIENCE_SECONDS = 60
NAME = "Maria 529.982.247-25"
LETTERS = """
log.warning("told", message="M\\u00e1ximo", half="\\udcff", seconds=float("nan"),
            nested={"most": [float("inf"), 1.5], 1: (float("-inf"),)})
"""
OTHERS = f"""
import asyncio, gc, logging
logging.getLogger("some.library").error("paciente {NAME}", exc_info=ValueError("{NAME}"))
logging.getLogger("some.library").warning("paciente %s", "{NAME}")
logging.getLogger("opentelemetry.sdk").warning("paciente %s", "{NAME}")

async def broken():
    raise LookupError("{NAME}")

async def main():
    task = asyncio.create_task(broken())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    del task
    gc.collect()

asyncio.run(main())
"""
TERMINAL = """
log.warning("told", why="x\\x9b31m\\u202e\\u2028y\\x1b[31m\\x07", words="one\\nFAKE [error] told \\x9b31m",
            deep=["\\x9b\\u202e"])
"""


def written(code: str, style: str = "json", **environment: str) -> str:
    """What a process of its own writes to standard error."""
    begin = (
        f"import structlog\nfrom workers.app.logs import configure_logs\nconfigure_logs('info', '{style}')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", begin + "import structlog\nlog = structlog.get_logger('test')\n" + code],
        env=os.environ | environment,
        capture_output=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    return ended.stderr.decode()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_line_is_json_in_every_encoding_and_with_numbers_that_json_does_not_know(encoding: str) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    text = written(LETTERS, PYTHONIOENCODING=encoding)
    line = json.loads(text, parse_constant=refuse)
    assert (line["message"], line["half"], line["seconds"]) == ("M\u00e1ximo", "\udcff", None)
    assert line["nested"] == {"most": [None, 1.5], "1": [None]}


def test_what_libraries_and_asyncio_complain_of_is_a_line_of_ours_without_their_text() -> None:
    text = written(OTHERS)
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["event"], line["part"], line["error"]) for line in lines] == [
        ("library_failed", "some.library", "ValueError"),
        ("library_warned", "some.library", None),
        ("telemetry_trouble", "opentelemetry.sdk", None),
        ("library_failed", "asyncio", "LookupError"),
    ]
    assert NAME not in text


def test_a_line_for_people_tells_a_terminal_nothing() -> None:
    text = written(TERMINAL, "console", PYTHONIOENCODING="utf-8")
    assert text.removesuffix("\n").isprintable()
    assert "31m" in text


def test_a_stack_of_several_lines_is_shown_to_people_too() -> None:
    text = written("log.error('relay_ended', error='KeyError', stack=['  here\\n', '  there\\n'])", "console")
    assert text.splitlines()[1:3] == ["  here", "  there"]
