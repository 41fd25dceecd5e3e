"""Every line that is written while a job runs names the job; a commit that is shared names nobody's."""

import asyncio
import io
import json
import sys
from contextlib import redirect_stderr
from typing import Any

import pytest
import structlog

from persistence.database.group_commit import GroupCommit
from persistence.encryption.keys import cipher_of, new_key
from tests.support.patients import CPF
from workers.app.correlation import correlated, naming_its_job
from workers.app.logs import configure_logs
from workers.app.tracing.job_ids import ids_of
from workers.app.tracing.spans import Untraced
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Outcome

CIPHER = cipher_of(new_key("k1"))
CLAIMS: list[tuple[Any, str | None]] = [
    ("CLM-001-7", "CLM-001-7"),
    ("GUIDE-17", "GUIDE-17"),
    ("Maria da Silva", None),
    (CPF, None),
    (7, None),
    (None, None),
    ("CLM-" + "x" * 9000 + "-1", None),
]


def a_job(claim: Any = "CLM-001-7", key: int = 9) -> Job:
    return Job(key, "t", "Task", 5, 3, {}, {"claimId": claim})


async def nothing(_job: Job) -> Outcome:
    return Complete()


def ids_now() -> dict[str, Any]:
    """What a line would bear that is written now."""
    return dict(naming_its_job(None, "info", {}))


def around(job: Job) -> Any:
    return correlated(JobHandler("t", (), nothing), CIPHER, Untraced().trace_of).around(job)


@pytest.mark.parametrize(("given", "told"), CLAIMS)
def test_a_claim_is_named_by_what_may_be_told_of_it(given: Any, told: str | None) -> None:
    assert ids_of(a_job(given), CIPHER).claim == told


def test_a_claim_id_that_holds_a_persons_number_is_named_by_a_keyed_one() -> None:
    claim = ids_of(a_job(f"CLM-{CPF}-1"), CIPHER).claim
    assert claim is not None
    assert claim.startswith("CLM-H-")
    assert claim != ids_of(a_job(f"CLM-{CPF}-1"), cipher_of(new_key("k2"))).claim


def test_lines_inside_name_the_job_and_lines_outside_do_not() -> None:
    with around(a_job()):
        assert ids_now() == {"claim": "CLM-001-7", "instance": 5, "job": 9}
    assert ids_now() == {}


def test_the_trace_is_named_where_there_is_one() -> None:
    handler = correlated(JobHandler("t", (), nothing), CIPHER, lambda _job, ids: f"trace of {ids.instance}")
    with handler.around(a_job(None)):
        told = ids_now()
    assert told == {"instance": 5, "job": 9, "trace_id": "trace of 5"}


async def test_a_shared_commit_runs_in_nobodys_name() -> None:
    seen: list[dict[str, Any]] = []

    async def commit(works: Any) -> Any:
        seen.append(ids_now())
        return works

    grouped: GroupCommit[str, str] = GroupCommit(commit, key=str)
    with around(a_job()):
        assert tuple(await asyncio.gather(grouped.add("a"), grouped.add("b"))) == ("a", "b")
        assert ids_now()["job"] == 9
    assert seen == [{}]


def test_a_line_of_json_has_the_documents_level_letters_as_they_are_and_the_ids() -> None:
    usual = structlog.get_config()
    try:
        with redirect_stderr(io.StringIO()) as written:
            configure_logs("info", "json")
            with around(a_job()):
                structlog.get_logger("test").warning("an_event", message="Máximo", job=1)
                structlog.get_logger("test").debug("too_small")
    finally:
        structlog.configure(**usual)
    assert "Máximo" in written.getvalue()
    line = json.loads(written.getvalue())
    assert line.pop("timestamp").endswith("Z")
    ids = {"claim": "CLM-001-7", "instance": 5, "job": 1}
    assert line == {"event": "an_event", "level": "warn", "message": "Máximo"} | ids


@pytest.mark.parametrize("terminal", [True, False])
def test_lines_for_people_have_colours_on_a_terminal_only(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, written = structlog.get_config(), io.StringIO()
    monkeypatch.setattr(written, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stderr", written)
    try:
        configure_logs("info", "console")
        structlog.get_logger("test").error("an_event", message="Máximo")
    finally:
        structlog.configure(**usual)
    assert ("\x1b[" in written.getvalue()) is terminal
    assert "an_event" in written.getvalue()
