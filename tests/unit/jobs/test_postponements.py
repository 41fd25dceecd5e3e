"""A job that is put off leaves a line that says whose it is, why, and when it comes again."""

from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from workers.jobs.postponements import noting_postponements
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Outcome, Postpone

CPF = "529.982.247-25"
PUT_OFF = Postpone(f"the database is away, says {CPF}", timedelta(seconds=20))


def job(**variables: object) -> Job:
    return Job(7, "submit-claim", "Task", 5, 3, {}, variables)


def handler(outcome: Outcome, late: Outcome | None = None) -> JobHandler:
    async def handle(_job: Job) -> Outcome:
        return outcome

    return noting_postponements(JobHandler("submit-claim", (), handle, late=lambda _job: late))


async def test_a_job_that_is_put_off_leaves_a_line_without_anybodys_number() -> None:
    with capture_logs() as lines:
        assert await handler(PUT_OFF).handle(job(payerId="sul")) == PUT_OFF
    [line] = lines
    assert CPF not in line.pop("why")
    assert line == {
        "event": "job_postponed",
        "log_level": "info",
        "type": "submit-claim",
        "payer": "sul",
        "again_in_seconds": 20,
    }


def test_so_does_one_whose_time_was_over() -> None:
    with capture_logs() as lines:
        assert handler(Complete(), late=PUT_OFF).late(job()) == PUT_OFF
    assert [line["event"] for line in lines] == ["job_postponed"]


@pytest.mark.parametrize("payer", ["52998224725", 7, None, "Maria da Silva, 1975"])
async def test_what_is_no_payers_id_is_not_named(payer: object) -> None:
    with capture_logs() as lines:
        await handler(PUT_OFF).handle(job(payerId=payer))
    assert [line["payer"] for line in lines] == [None]


async def test_another_outcome_leaves_none() -> None:
    with capture_logs() as lines:
        await handler(Complete()).handle(job(payerId="sul"))
        assert handler(Complete()).late(job()) is None
    assert lines == []
