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
FULL_DISK = """
import asyncio, os, sys
from domain.readings import Reading
from workers.app.telemetry.gauges import Gauges, GaugeSource
from workers.jobs.outage_tolerant import outage_tolerant
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete

async def handle(_job):
    log.warning("told")
    return Complete()

async def unread():
    raise LookupError

async def main():
    job, handler = Job(1, "submit-claim", "Task", 1, 3, {}, {}), JobHandler("submit-claim", (), handle)
    print(type(await outage_tolerant(handler, lambda: False).handle(job)).__name__)
    gauges = Gauges()
    gauges.add(GaugeSource("unread", unread))
    await gauges.refresh()
    print("refreshed")

taken = os.dup(2)
os.dup2(os.open("/dev/full", os.O_WRONLY), 2)
asyncio.run(main())
os.dup2(taken, 2)
log.warning("there_is_room")
"""
TERMINAL = """
log.warning("told", why="x\\x9b31m\\u202e\\u2028y\\x1b[31m\\x07", words="one\\nFAKE [error] told \\x9b31m",
            deep=["\\x9b\\u202e"])
"""


def written(code: str, style: str = "json", **environment: str) -> str:
    """What a process of its own writes to standard error."""
    return ran(code, style, **environment).stderr.decode()


def ran(code: str, style: str = "json", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A process of its own that logs, and has ended."""
    begin = (
        f"import structlog\nfrom workers.app.logs import configure_logs\nconfigure_logs('info', '{style}')\n"
    )
    return subprocess.run(
        [sys.executable, "-c", begin + "import structlog\nlog = structlog.get_logger('test')\n" + code],
        env=os.environ | environment,
        capture_output=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )


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


def test_a_log_that_cannot_be_written_costs_no_job_and_no_gauge_and_is_told_of_when_it_can() -> None:
    done = ran(FULL_DISK)
    assert done.stdout.decode().split() == ["Complete", "refreshed"]
    *_, there, told = [json.loads(line) for line in done.stderr.splitlines()]
    assert there["event"] == "there_is_room"
    assert (told["event"], told["level"], told["lines"]) == ("log_not_written", "warn", 2)


def test_a_log_whose_reader_is_gone_keeps_nobody_from_going_on() -> None:
    begin = "import os, sys\nreader, writer = os.pipe()\nos.close(reader)\nos.dup2(writer, 2)\n"
    done = ran(begin + "log.error('told')\nsys.stderr.close()\nlog.error('told')\nprint('went on')")
    assert done.stdout.decode().split() == ["went", "on"]


def test_a_line_for_people_tells_a_terminal_nothing() -> None:
    text = written(TERMINAL, "console", PYTHONIOENCODING="utf-8")
    assert text.removesuffix("\n").isprintable()
    assert "31m" in text


def test_a_stack_of_several_lines_is_shown_to_people_too() -> None:
    text = written("log.error('relay_ended', error='KeyError', stack=['  here\\n', '  there\\n'])", "console")
    assert text.splitlines()[1:3] == ["  here", "  there"]
