"""A lost key: none is made in its place, what is missing is said by its id, and every way out is open."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import httpx
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs

from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.errors import Trouble
from domain.refusals import Refusal
from domain.submission import Accepted, AnswerLost, SendResult, Submission
from gateways.clock import WallClock
from gateways.zeebe.connection import Plaintext
from persistence.encryption.keys import KEY_FILE, cipher_of, new_key
from tests.support.builders import NOW
from tests.support.command_line import reenvio
from tests.support.faults.messages import message_broker
from tests.support.payers_file import payers_file
from tests.support.tiss_samples import PAYER, file_bytes, file_text
from workers.app.cluster import Cluster
from workers.app.composition import App, claims_flowing, running
from workers.app.databases import migrate_database
from workers.app.serving import worker_probes
from workers.claims.examination import ClaimFile
from workers.claims.intake import KnownClaim
from workers.config.settings import read_settings
from workers.jobs import all_handlers
from workers.runtime import Complete, Incident, Job, Outcome
from workers.runtime.events import GatewayAnswered

PAYERS = f'[payers.{PAYER}]\nendpoint = "https://payer.example"\nversion = "4.03.00"\n'
FILE = file_bytes(file_text())
CLAIM = f"CLM-{PAYER}-PREST0001-200000000001"


@dataclass
class Recorder:
    """A payer that answers as told, and keeps what it was sent."""

    answer: SendResult = field(default_factory=lambda: Accepted("900000000001"))
    sent: list[Submission] = field(default_factory=list)

    async def send(self, submission: Submission, _now: datetime) -> SendResult:
        self.sent.append(submission)
        return self.answer


@dataclass(frozen=True)
class Ward:
    """A home with a database and payers, opened as a worker opens it."""

    home: Path
    patch: pytest.MonkeyPatch
    address: str

    @asynccontextmanager
    async def opened(self, *, flowing: bool = True, **environment: str) -> AsyncIterator[App]:
        """The application in this environment; `flowing` as who sends claims or takes them in."""
        for name, value in environment.items():
            self.patch.setenv(name, value)
        settings = read_settings()
        await migrate_database(settings)
        opening = claims_flowing if flowing else running
        async with opening(settings, Cluster(Plaintext(self.address), WallClock())) as app:
            yield app

    async def hand_in(self, **environment: str) -> str:
        """Hand a claim in; the id of the key that has sealed its file."""
        async with self.opened(flowing=True, **environment) as app:
            await app.intake.submit(ClaimFile(FILE))
            return app.cipher.current

    @property
    def key_file(self) -> Path:
        return self.home / KEY_FILE


@pytest.fixture
async def ward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ward]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("REENVIO_HOME", str(home))
    monkeypatch.setenv("PAYERS_FILE", str(payers_file(tmp_path, PAYERS)))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    async with message_broker() as broker:
        yield Ward(home, monkeypatch, broker.address)


async def delivered(app: App, payer: Recorder, key: int = 7, **variables: object) -> Outcome:
    """What comes of a delivery of the claim's job."""
    handlers = all_handlers(replace(app, payer=payer).services())
    [handler] = [one for one in handlers if one.type == "submit-claim"]
    given = {"claimId": CLAIM, "payerId": PAYER} | variables
    return await handler.handle(Job(key, "submit-claim", "Task_SubmitClaim", 1, 3, {}, given))


async def test_no_key_is_made_while_the_database_holds_what_another_has_sealed(ward: Ward) -> None:
    key_id = await ward.hand_in()
    ward.key_file.unlink()
    async with ward.opened(flowing=False):
        assert not ward.key_file.exists()
    with pytest.raises(Trouble, match=key_id):
        async with ward.opened():
            pass
    assert not ward.key_file.exists()


async def test_without_the_key_no_worker_starts_and_the_line_says_which_and_what_to_do(ward: Ward) -> None:
    key_id = await ward.hand_in()
    ward.key_file.unlink()
    done = await asyncio.to_thread(reenvio, ward.home, "work", ZEEBE_ADDRESS=ward.address)
    assert done.returncode == 2
    for told in (key_id, str(ward.key_file), "ENCRYPTION_KEYS", "`reenvio keys add`"):
        assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


async def test_no_key_is_made_for_a_database_that_is_not_in_this_home(
    ward: Ward, url: str, database: AsyncEngine
) -> None:
    async with ward.opened(flowing=False, DATABASE_URL=url):
        assert not ward.key_file.exists()
    with pytest.raises(Trouble, match="ENCRYPTION_KEYS"):
        async with ward.opened(DATABASE_URL=url):
            pass
    assert not ward.key_file.exists()


async def test_a_file_under_a_lost_key_is_an_incident_by_key_id_and_never_a_retry(ward: Ward) -> None:
    lost, payer = await ward.hand_in(), Recorder()
    async with ward.opened(ENCRYPTION_KEYS=new_key("new")) as app:
        for _ in range(6):  # as often as a person asks: it does not use up the operation's starts
            outcome = await delivered(app, payer)
            assert isinstance(outcome, Incident), outcome
            for told in (CLAIM, lost, "ENCRYPTION_KEYS", "reenvio keys list", "hand the same file in again"):
                assert told in outcome.message
        async with app.store.reading() as tx:
            assert await tx.attempts.count(CLAIM) == 0
            claim = await tx.claims.find(CLAIM)
    assert (payer.sent, claim and claim.state) == ([], ClaimState.RECEIVED)


async def test_a_result_under_a_lost_key_is_an_incident_and_no_second_send(ward: Ward) -> None:
    old, payer = new_key("old"), Recorder()
    await ward.hand_in(ENCRYPTION_KEYS=old)
    async with ward.opened() as app:
        first = await delivered(app, payer)
    async with ward.opened(ENCRYPTION_KEYS=new_key("new")) as app:
        outcome = await delivered(app, payer)
        assert isinstance(outcome, Incident)
        assert "'old'" in outcome.message
    async with ward.opened(ENCRYPTION_KEYS=f"{new_key('newer')},{old}") as app:
        assert await delivered(app, payer) == first
    assert len(payer.sent) == 1


async def test_readiness_is_red_and_the_log_names_claim_and_cause_until_no_open_claim_needs_the_key(
    ward: Ward,
) -> None:
    lost = await ward.hand_in()
    with capture_logs() as logs:
        async with ward.opened(ENCRYPTION_KEYS=new_key("new")) as app:
            status, red = await readiness(app)
    assert status == 503
    assert red.startswith(f"the encryption key {lost} is not here: {CLAIM} cannot be sent: ")
    for remedy in ("give every worker this key", "`reenvio claim submit`", "`reenvio keys list`"):
        assert remedy in red
    [entry] = [entry for entry in logs if entry["event"] == "encryption_key_missing"]
    assert (entry["log_level"], entry["key"], entry["claim"]) == ("error", lost, CLAIM)
    async with ward.opened() as app:
        await app.intake.submit(ClaimFile(FILE))
    async with ward.opened() as app:
        assert await readiness(app) == (200, "ok")


async def readiness(app: App) -> tuple[int, str]:
    """What a worker's probe says while its gateway answers."""
    worker = app.worker()
    worker.health.note(GatewayAnswered())
    asked = httpx.ASGITransport(app=worker_probes(app, worker))
    async with httpx.AsyncClient(transport=asked, base_url="http://worker") as client:
        answer = await client.get("/readyz")
    return answer.status_code, answer.text


async def test_a_closed_claim_does_not_keep_readiness_red(ward: Ward) -> None:
    await ward.hand_in()
    async with ward.opened(ENCRYPTION_KEYS=new_key("new")) as app, app.store.transaction() as tx:
        await tx.claims.close(CLAIM, ClaimState.CANCELLED, now=datetime.now().astimezone())
    async with ward.opened() as app:
        assert await app.keys.trouble() is None


async def test_handing_the_same_file_in_again_seals_it_anew(ward: Ward) -> None:
    payer = Recorder()
    await ward.hand_in()
    async with ward.opened(ENCRYPTION_KEYS=new_key("new")) as app:
        known = await app.intake.submit(ClaimFile(FILE))
        assert known == KnownClaim(ClaimId(CLAIM), ClaimState.RECEIVED, sealed_anew=True)
        assert isinstance(await delivered(app, payer), Complete)
        assert [sent.content for sent in payer.sent] == [FILE]
        again = await app.intake.submit(ClaimFile(FILE))
        assert isinstance(again, KnownClaim)
        assert not again.sealed_anew
        uses = await app.store.look(lambda tx: tx.sealed.uses())
    assert uses.key_ids == ["new"], "its guides are under the new key too"


async def test_another_file_of_its_batch_number_is_refused_in_plain_words_and_taken_once_it_is_given_up(
    ward: Ward,
) -> None:
    await ward.hand_in()
    other = ClaimFile(file_bytes(file_text(first=500)), claim_id="CLM-001-2")
    async with ward.opened(ENCRYPTION_KEYS=new_key("new")) as app:
        with pytest.raises(Refusal, match=f"known as {CLAIM}"):
            await app.intake.submit(other)
        async with app.store.transaction() as tx:
            await tx.claims.close(CLAIM, ClaimState.CANCELLED, now=datetime.now().astimezone())
        assert (await app.intake.submit(other)).claim_id == ClaimId("CLM-001-2")


async def in_review(app: App) -> None:
    async with app.store.transaction() as tx:
        now = datetime.now().astimezone()
        await tx.claims.move(CLAIM, ClaimState.FAILED, now=now)
        assert await tx.claims.move(CLAIM, ClaimState.IN_REVIEW, now=now)


async def test_a_corrected_file_replaces_one_that_nobody_can_open(ward: Ward) -> None:
    corrected = file_bytes(file_text(first=500))
    await ward.hand_in()
    async with ward.opened(ENCRYPTION_KEYS=new_key("new")) as app:
        await app.store.run(lambda tx: tx.claims.put(CLAIM, PAYER, ClaimState.SUBMITTING, now=NOW))
        await in_review(app)
        await app.intake.correct(ClaimId(CLAIM), corrected)
        assert await app.store.look(lambda tx: tx.payloads.opened(CLAIM, app.cipher)) == corrected


async def test_a_file_that_may_have_arrived_and_nobody_can_open_is_not_corrected_blindly(ward: Ward) -> None:
    old = new_key("old")
    await ward.hand_in(ENCRYPTION_KEYS=old)
    async with ward.opened() as app:
        await delivered(app, Recorder(AnswerLost("TIMEOUT - no answer")))
    async with ward.opened(ENCRYPTION_KEYS=new_key("new")) as app:
        await in_review(app)
        with pytest.raises(Refusal, match=r"cannot be opened.*Hand the same file in again first"):
            await app.intake.correct(ClaimId(CLAIM), file_bytes(file_text(first=500)))
        await app.intake.submit(ClaimFile(FILE))
        with pytest.raises(Refusal, match="guide numbers"):
            await app.intake.correct(ClaimId(CLAIM), file_bytes(file_text(first=500)))


async def test_a_new_key_under_a_known_id_is_refused_before_it_seals_anything(ward: Ward) -> None:
    await ward.hand_in(ENCRYPTION_KEYS=new_key("k1"))
    with pytest.raises(Trouble, match=rf"'k1' is not the one .*{CLAIM}.* an id of its own"):
        async with ward.opened(ENCRYPTION_KEYS=new_key("k1")):
            pass


async def test_a_key_beside_another_of_its_id_is_told_as_another(ward: Ward) -> None:
    """As versions before this one could leave it: files of two keys under one id."""
    first, second = new_key("k1"), new_key("k1")
    await ward.hand_in(ENCRYPTION_KEYS=first)
    async with ward.opened() as app:
        other = file_bytes(file_text("200000000002", first=700))
        await app.intake.submit(ClaimFile(other))
        sealed = cipher_of(second)
        intake = replace(app.intake, batches=replace(app.intake.batches, cipher=sealed))
        assert await intake.submit(ClaimFile(other)) == KnownClaim(
            ClaimId(f"CLM-{PAYER}-PREST0001-200000000002"), ClaimState.RECEIVED, sealed_anew=True
        )
    async with ward.opened(ENCRYPTION_KEYS=second) as app:
        told = f"the encryption key k1 is another than it was: {CLAIM} cannot be sent"
        assert (await app.keys.trouble() or "").startswith(told)
