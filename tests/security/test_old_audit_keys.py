"""An old key is kept for the audit trail as long as it is needed, and nothing is signed without it."""

from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs

from bpmn.names import JobType
from persistence.audit.anchors import SealKeyMissing
from persistence.audit.seals import seals_of
from persistence.encryption.keys import cipher_of, new_key
from persistence.store import Store
from tests.support.audit_trail import END, problems, trail
from tests.support.builders import draft, later
from tests.support.command_line import reenvio
from tests.support.databases import KEYS
from tests.support.services import services
from workers.jobs.maintenance import anchor_audit
from workers.runtime import Job
from workers.runtime.outcome import Fail
from workers.upkeep.retention import set_due_anchors

__all__ = ["trail"]
NEW = new_key("new")
BOTH = f"{NEW},{KEYS}"
JOB = Job(1, JobType.ANCHOR_AUDIT, "Task", 1, 3, {}, {})


class Still:
    """A clock that stands at the end."""

    async def now(self) -> datetime:
        return END


@pytest.fixture
def both(trail: Store, database: AsyncEngine) -> Store:
    """After a change of keys, with the old one still here."""
    return Store(database, seals_of(cipher_of(BOTH)))


@pytest.fixture
def only_new(trail: Store, database: AsyncEngine) -> Store:
    """The same, when the old key was taken away."""
    return Store(database, seals_of(cipher_of(NEW)))


async def test_no_anchor_is_signed_over_events_whose_key_is_missing(only_new: Store, both: Store) -> None:
    with pytest.raises(SealKeyMissing, match=r"the key test\."):
        await set_due_anchors(only_new, END)
    await set_due_anchors(both, END)
    assert await problems(both) == await problems(only_new) == []
    await both.record(draft("CLM-6-6", now=END))
    await set_due_anchors(both, later(days=4))
    assert await problems(both, later(days=4)) == []


async def test_the_daily_job_tells_which_key_it_lacks(only_new: Store) -> None:
    with capture_logs() as logs:
        outcome = await anchor_audit(services(only_new, clock=Still())).handle(JOB)
    assert isinstance(outcome, Fail)
    assert "the key test." in outcome.message
    assert "audit_anchor_refused" in [line["event"] for line in logs]


async def test_an_old_key_is_needed_until_an_anchor_of_the_new_one(both: Store) -> None:
    [need] = await both.look(lambda tx: tx.audit_keys.all())
    assert (need.name.partition(".")[0], need.events, str(need.until)) == ("test", 30, "2026-01-14")
    await set_due_anchors(both, END)
    assert await both.look(lambda tx: tx.audit_keys.all()) == []


async def test_a_missing_key_is_needed_too(only_new: Store) -> None:
    [need] = await only_new.look(lambda tx: tx.audit_keys.all())
    assert need.name.startswith("test.")


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_keys_list_and_rotate_say_until_when(both: Store, url: str, tmp_path: Path) -> None:
    told = "The audit trail needs test (30 events): keep it until the anchor of 2026-01-14 is set"
    for command in ("list", "rotate"):
        done = reenvio(tmp_path, "keys", command, DATABASE_URL=url, ENCRYPTION_KEYS=BOTH)
        assert (done.returncode, told in done.stdout) == (0, True), done.stdout + done.stderr
    missing = reenvio(tmp_path, "keys", "list", DATABASE_URL=url, ENCRYPTION_KEYS=NEW)
    assert missing.returncode == 1
    assert "no anchor is set without it" in missing.stdout
