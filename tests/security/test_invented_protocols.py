"""No protocol is invented: the practice payer serves by an explicit switch only, and never a claim's file."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from domain.claim_state import ClaimState
from gateways.clock import WallClock
from gateways.tiss.answers import is_protocol
from gateways.zeebe.connection import Plaintext
from persistence.repositories.claims import Arrival, ClaimRow
from persistence.repositories.payloads import seal_payload
from tests.support.builders import NOW, later
from tests.support.command_line import reenvio
from tests.support.faults.messages import message_broker
from tests.support.tiss_samples import file_bytes, file_text
from workers.api import serving_api
from workers.app.cluster import Cluster
from workers.app.composition import App, running
from workers.app.databases import migrate_database
from workers.config.intake import ApiSettings
from workers.config.settings import SettingsError, read_settings
from workers.jobs import all_handlers
from workers.runtime import Complete, Incident, Job, Outcome

CLAIM, PAYER = "CLM-001-1", "999999"
CLUSTER = {"ZEEBE_ADDRESS": "localhost:1"}
TOKEN = "x" * 40
SENDS_OR_TAKES_IN = [
    (["work"], {}),
    (["work", "--only", "submit-claim"], {}),
    (["up"], {}),
    (["api"], {"API_PORT": "0", "API_TOKENS": TOKEN}),
    (["claim", "submit", "batch.xml"], {}),
]


@pytest.mark.parametrize(("arguments", "given"), SENDS_OR_TAKES_IN, ids=lambda value: " ".join(value))
def test_what_sends_or_takes_claims_in_does_not_start_without_payers(
    tmp_path: Path, arguments: list[str], given: dict[str, str]
) -> None:
    reenvio(tmp_path, "migrate")
    done = reenvio(tmp_path, *arguments, **CLUSTER, **given)
    assert done.returncode == 2
    assert "PAYERS_FILE" in done.stderr
    assert "PRACTICE_PAYER" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_up_beside_a_database_of_ones_own_does_not_practise_by_itself(tmp_path: Path) -> None:
    own = f"sqlite+aiosqlite:///{tmp_path}/own.db"
    done = reenvio(tmp_path, "up", DATABASE_URL=own)
    assert (done.returncode, "PRACTICE_PAYER" in done.stderr) == (2, True)


@pytest.mark.parametrize("name", ["PAYERS_FILE", "PAYER_SCRIPT", "DATABASE_URL", "ENCRYPTION_KEYS"])
@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_setting_is_an_error_and_not_unset(tmp_path: Path, name: str, value: str) -> None:
    done = reenvio(tmp_path, "work", **CLUSTER, **{name: value})
    assert done.returncode == 2
    assert f"{name}: it is set, but empty: unset it, or give it a value" in done.stderr


def test_all_empty_settings_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = ("PAYERS_FILE", "REDIS_URL", "ZEEBE_ADDRESS", "HANDLER_LIMITS", "JAVA_HOME", "API_TOKENS")
    for name in empty:
        monkeypatch.setenv(name, "")
    with pytest.raises(SettingsError) as refused:
        read_settings()
    assert [name for name in empty if f"{name}: it is set, but empty" not in str(refused.value)] == []


@pytest.mark.parametrize("switch", [{"PRACTICE_PAYER": "true"}, {"PAYER_SCRIPT": "/b.json"}])
def test_real_payers_and_one_for_practice_exclude_each_other(tmp_path: Path, switch: dict[str, str]) -> None:
    done = reenvio(tmp_path, "work", PAYERS_FILE="/a.toml", **CLUSTER, **switch)
    assert (done.returncode, "unset the one you do not mean" in done.stderr) == (2, True)


@asynccontextmanager
async def practising(monkeypatch: pytest.MonkeyPatch, home: Path) -> AsyncIterator[App]:
    """The application of a worker that has only the practice payer."""
    monkeypatch.setenv("PRACTICE_PAYER", "true")
    monkeypatch.setenv("REENVIO_HOME", str(home))
    settings = read_settings()
    await migrate_database(settings)
    async with (
        message_broker() as broker,
        running(settings, Cluster(Plaintext(broker.address), WallClock())) as app,
    ):
        yield app


async def submitted(app: App, key: int = 7) -> Outcome:
    """What comes of the claim's job."""
    [handler] = [one for one in all_handlers(app.services()) if one.type == "submit-claim"]
    given = {"claimId": CLAIM, "payerId": PAYER}
    return await handler.handle(Job(key, "submit-claim", "Task_SubmitClaim", 1, 3, {}, given))


async def hand_in(app: App, *, with_file: bool = True) -> None:
    """A claim as a real intake leaves it; retention may have removed its file since."""
    async with app.store.transaction() as tx:
        await tx.claims.receive_all([(Arrival(CLAIM, PAYER, later(hours=48), "c" * 64, "1"), NOW)])
        if with_file:
            sealed = seal_payload(app.cipher, CLAIM, file_bytes(file_text()))
            await tx.payloads.put(CLAIM, sealed, now=NOW)


async def row(app: App) -> ClaimRow:
    async with app.store.reading() as tx:
        found = await tx.claims.find(CLAIM)
    assert found
    return found


@pytest.mark.parametrize("with_file", [True, False])
async def test_a_claim_that_was_handed_in_gets_no_answer_from_the_practice_payer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, with_file: bool
) -> None:
    async with practising(monkeypatch, tmp_path) as app:
        await hand_in(app, with_file=with_file)
        for _ in range(6):  # as often as a person asks, it never counts as a failed try
            outcome = await submitted(app)
            assert isinstance(outcome, Incident), outcome
            for told in (CLAIM, "PRACTICE_PAYER", "PAYERS_FILE", f"reenvio claim resolve {CLAIM}"):
                assert told in outcome.message
        claim = await row(app)
        assert (claim.state, claim.protocol_number) == (ClaimState.RECEIVED, None)
        async with app.store.reading() as tx:
            assert await tx.attempts.count(CLAIM) == 0


async def test_a_made_up_protocol_is_known_as_such_by_its_own_form(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with practising(monkeypatch, tmp_path) as app:
        outcome = await submitted(app)
        assert isinstance(outcome, Complete)
        number = (await row(app)).protocol_number
        assert number is not None
        assert outcome.variables == {"protocolNumber": number}
        assert number.startswith("PRACTICE:")
        assert not is_protocol(number), "no payer can give it, and no person can enter it as a payer's"
        settings = ApiSettings(port=0, tokens=SecretStr(TOKEN))
        async with (
            serving_api(app, settings) as port,
            httpx.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False) as client,
        ):
            told = (await client.get(f"http://127.0.0.1:{port}/api/claims/{CLAIM}")).json()
        assert (told["protocolNumber"], told["practice"]) == (number, True)
    shown = reenvio(tmp_path, "claim", "show", CLAIM)
    assert f"{number} (made up for practice: nothing was sent)" in shown.stdout
    assert number in reenvio(tmp_path, "claim", "list").stdout
