"""A send may outlast the slowest payer, whatever the limits say."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from bpmn.names import JobType
from tests.support.payers_file import payers_file
from workers.claims.examination import Channels
from workers.config.settings import HandlerLimits, SettingsError
from workers.jobs.limits import outlasting, slowest
from workers.payers.channels import open_channels
from workers.runtime import Complete, Job, JobHandler, Outcome

PAYERS = """
[payers.111111]
endpoint = "https://quick.example"
version = "4.03.00"
timeouts = { queue = 1, connect = 1, write = 2, read = 2, total = 5 }

[payers.222222]
endpoint = "https://slow.example"
version = "4.03.00"
timeouts = { queue = 60, connect = 10, write = 60, read = 500, total = 540 }
"""


async def done(_job: Job) -> Outcome:
    return Complete()


def handler(job_type: str) -> JobHandler:
    return JobHandler(job_type, (), done, lock=timedelta(minutes=5), time_limit=timedelta(minutes=4))


SENDING = handler(JobType.SUBMIT_CLAIM)


@pytest.fixture(scope="module")
async def channels(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Channels]:
    file = payers_file(tmp_path_factory.mktemp("payers"), PAYERS)
    async with open_channels(file) as opened:
        yield opened


async def test_time_limit_and_lock_grow_with_the_slowest_payer(channels: Channels) -> None:
    grown = outlasting(slowest(channels), SENDING, HandlerLimits())
    assert grown.time_limit > timedelta(seconds=600)
    assert grown.lock > grown.time_limit


async def test_a_quick_payer_shortens_nothing(channels: Channels) -> None:
    quick = slowest({"111111": channels["111111"]})
    assert outlasting(quick, SENDING, HandlerLimits()) == SENDING


async def test_limits_that_contradict_a_payer_are_refused_with_both_numbers(channels: Channels) -> None:
    limits = HandlerLimits(time_limit_seconds=100)
    with pytest.raises(SettingsError, match=r"submit-claim may run 100 s.*222222 may take 615 s"):
        outlasting(slowest(channels), SENDING, limits)


async def test_a_lock_that_is_too_short_is_refused_with_both_numbers(channels: Channels) -> None:
    with pytest.raises(SettingsError, match=r"may run 615 s.*locked for 300 s"):
        outlasting(slowest(channels), SENDING, HandlerLimits(lock_seconds=300))


async def test_other_jobs_and_practice_payers_stay_as_they_are(channels: Channels) -> None:
    other = handler(JobType.NOTIFY)
    assert outlasting(slowest(channels), other, HandlerLimits()) == other
    assert outlasting(None, SENDING, HandlerLimits()) == SENDING
