"""Values that no column can hold are an incident that names their variable, for every type of job."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from math import inf, nan
from types import MappingProxyType

import pytest

from bpmn.names import Header, PolicyHeader, Variable
from domain.mail.mail import MailState
from persistence.encryption.keys import cipher_of, new_key
from persistence.store import Store
from tests.support import job_samples
from tests.support.mails import a_mail
from tests.support.services import services
from workers.jobs import all_handlers
from workers.runtime import Complete, Incident, Job, Throw
from workers.runtime.executor import run_handler
from workers.runtime.handler import JobHandler

CIPHER = cipher_of(new_key("k1"))
NO_VALUES: dict[str, object] = {
    "nul": "CLM-D-1\x00",
    "surrogate": "CLM-\ud800-1",
    "nested nul": [{"a": "b\x00"}],
    "nul in a name": {"a\x00": 1},
    "nan": nan,
    "infinity": [inf],
}
NO_KEYS = (10**30, 2**63, -(2**70), 0, -1, True, 1.0, "7")
FOLDED = {Variable.SUBMISSION_ERROR, Variable.SUBMISSION_ERROR_CODE, Variable.RETRY_REASON}


def handlers(store: Store) -> list[JobHandler]:
    return list(all_handlers(services(store, cipher=CIPHER)))


def job(handler: JobHandler, key: int = 7, given: Mapping[str, object] = MappingProxyType({})) -> Job:
    return Job(
        key,
        handler.type,
        "Task",
        1,
        3,
        job_samples.HEADERS.get(handler.type, {}),
        {**job_samples.VARIABLES, **given},
    )


@pytest.mark.parametrize("value", NO_VALUES.values(), ids=NO_VALUES)
async def test_what_no_column_holds_is_an_incident_that_names_its_variable(
    store: Store, value: object
) -> None:
    wrong = []
    for handler in handlers(store):
        for name in handler.variables:
            outcome = await run_handler(handler, job(handler, given={name: value}))
            is_folded = name in FOLDED and isinstance(value, str) and isinstance(outcome, Complete | Throw)
            if not is_folded and not (isinstance(outcome, Incident) and name in outcome.message):
                wrong.append((handler.type, str(name), outcome))
    assert not wrong


@pytest.mark.parametrize("header", [Header.TEMPLATE, PolicyHeader.ALSO_PERMANENT, "x"])
@pytest.mark.parametrize("value", ["a\x00", "a\ud800"], ids=["nul", "surrogate"])
async def test_a_header_that_no_column_holds_is_an_incident_that_names_it(
    store: Store, header: str, value: str
) -> None:
    for handler in handlers(store):
        given = job(handler)
        outcome = await run_handler(handler, replace(given, headers={**given.headers, header: value}))
        assert isinstance(outcome, Incident)
        assert header in outcome.message


@pytest.mark.parametrize("value", NO_KEYS)
async def test_a_number_that_is_no_job_key_is_not_taken_for_one(store: Store, value: object) -> None:
    await store.run(lambda tx: tx.mails.add(a_mail(state=MailState.SENT, enqueued_at=datetime.now(UTC))))
    for place, handler in enumerate(handlers(store)):
        given = job(handler, 70 + place, {"resolvedJobKey": value, "claimId": f"CLM-D-{place}"})
        outcome = await run_handler(handler, given)
        assert isinstance(outcome, Complete | Throw), (handler.type, outcome)
        await handler.on_incident(given, "stuck")
    async with store.reading() as tx:
        kept = {claim.incident.first_key for claim in await tx.claims.all() if claim.incident}
    assert kept <= set(range(70, 90))
