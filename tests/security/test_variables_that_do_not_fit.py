"""A variable that fits no column is its own incident, by name and limit; the database is not blamed."""

from collections.abc import Callable

import pytest

from bpmn.names import Header
from persistence.database.trouble import DatabaseError, may_pass
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.services import services
from workers.jobs.close_claim import close_claim
from workers.jobs.notify import notify
from workers.jobs.open_review import open_review
from workers.jobs.services import Services
from workers.jobs.submit_claim import submit_claim
from workers.runtime import Incident, Job
from workers.runtime.handler import JobHandler

Factory = Callable[[Services], JobHandler]
GOOD: dict[str, object] = {"claimId": "CLM-1-1", "payerId": "p", "reviewReason": "PERMANENT_ERROR"}
HEADERS: dict[str, str] = {
    Header.OUTCOME: "CANCELLED",
    Header.RECIPIENT_GROUP: "REGISTRATION",
    Header.TEMPLATE: "t",
}
LONG = "9" * 65


def job(variables: dict[str, object], headers: dict[str, str]) -> Job:
    return Job(1, "type", "Task", 1, 3, headers, GOOD | variables)


@pytest.mark.parametrize(
    ("factory", "variable", "value", "told"),
    [
        (submit_claim, "claimId", f"CLM-{'x' * 129}-1", "100"),
        (submit_claim, "payerId", LONG, "64"),
        (submit_claim, "payerId", "p\x00", "letters, digits"),
        (submit_claim, "payerId", "\ud800", "letters, digits"),
        (open_review, "reviewReason", LONG, "64"),
        (open_review, "reviewRound", 2**31, "2147483647"),
        (open_review, "reviewRound", -1, "0"),
        (close_claim, "protocolNumber", LONG, "64"),
        (notify, "claimId", f"CLM-{'x' * 129}-1", "128"),
    ],
)
async def test_a_variable_that_fits_no_column_is_an_incident_that_names_it(
    store: Store, factory: Factory, variable: str, value: object, told: str
) -> None:
    outcome = await factory(services(store)).handle(job({variable: value}, HEADERS))
    assert isinstance(outcome, Incident)
    assert variable in outcome.message
    assert told in outcome.message
    assert "database" not in outcome.message
    assert str(value) not in outcome.message or value == -1


@pytest.mark.parametrize("header", [Header.RECIPIENT_GROUP, Header.TEMPLATE])
async def test_a_header_that_fits_no_column_is_an_incident_that_names_it(store: Store, header: str) -> None:
    outcome = await notify(services(store)).handle(job({}, HEADERS | {header: LONG}))
    assert isinstance(outcome, Incident)
    assert (header in outcome.message, "at most 64" in outcome.message) == (True, True)
    assert LONG not in outcome.message


@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
@pytest.mark.parametrize("event", ["x" * 99, "x\x00"], ids=["long", "no text"])
async def test_a_value_that_still_does_not_fit_is_told_as_that(store: Store, event: str) -> None:
    with pytest.raises(DatabaseError, match="does not fit where it is to be kept") as refused:
        await store.run(lambda tx: tx.journal.write("CLM-1-1", event, "y", now=NOW))
    assert not may_pass(refused.value)
    assert "does not answer" not in str(refused.value)
