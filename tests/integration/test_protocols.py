"""Questions about protocols are admitted as sends are; only the payer makes a protocol a claim's own."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.payer_status import PayerLimits, PayerState, PayerStatus
from domain.refusals import ClaimRefusal
from domain.submission import Accepted, AnswerLost
from gateways.clock import WallClock
from gateways.practice.simulator.scenario import Scenario
from gateways.practice.simulator.server import Simulator, simulated_payers
from gateways.tiss.outcomes import ProtocolStatus
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.attempts import AttemptResult
from persistence.repositories.claims import Arrival
from persistence.repositories.payloads import seal_payload
from persistence.store import Store
from tests.support.connected_payer import always
from tests.support.intake_stage import DERIVED, FILE, HandClock
from tests.support.payers_file import payers_file
from tests.support.tiss_samples import CALL, LOGIN, NOW, PAYER, lote
from workers.claims.protocols import Protocols, ProtocolTrouble
from workers.payers.channels import open_channels
from workers.payers.limits import limits_by_payer
from workers.payers.orders import Orders
from workers.payers.questions import NotNow
from workers.payers.waking import Waker

CLAIM = ClaimId(DERIVED)
ACCOUNTS: Mapping[str, object] = {"accounts": {LOGIN.name: LOGIN.password_md5}}
RULE = "requests_per_minute = 60"
WRONG = f'{RULE}\nlogin = "{LOGIN.name}"\npassword_env = "WRONG_PASSWORD"'


@dataclass(frozen=True, slots=True)
class Scene:
    """One claim, its payer, and who asks about it."""

    protocols: Protocols
    simulator: Simulator
    clock: HandClock

    @property
    def store(self) -> Store:
        return self.protocols.store

    @property
    def orders(self) -> Orders:
        return Orders(self.store, self.protocols.limits, Waker(self.store, self.protocols.limits))

    @property
    def calls(self) -> int:
        return len(self.simulator.ledger.entries)

    async def status(self) -> PayerStatus:
        async with self.store.reading() as tx:
            status = await tx.payers.find(PAYER)
        assert status
        return status

    async def take(self, number: str, first: int) -> str:
        """Let the payer have a batch; its protocol."""
        taken = await self.protocols.channels[PAYER].client.submit(lote(number, first=first), CALL)
        assert isinstance(taken, Accepted)
        return taken.protocol_number

    async def lose_the_answer(self, protocol: str) -> None:
        """A damaged answer to the claim's send names a protocol."""
        async with self.store.transaction() as tx:
            attempt = await tx.attempts.start(DERIVED, 1, now=NOW)
            named = AttemptResult(AnswerLost.stored_as, {"claimedProtocol": protocol})
            await tx.attempts.finish(DERIVED, attempt, named, now=NOW)


@asynccontextmanager
async def opened(
    store: Store, folder: Path, scenario: Mapping[str, object] | None = None, settings: str = RULE
) -> AsyncIterator[Scene]:
    """A payer that plays a scenario, and a claim with its file."""
    played = Scenario.model_validate({"payers": [{"registro_ans": PAYER, **(scenario or {})}]})
    async with simulated_payers(played, WallClock()) as simulator:
        line = f'[payers.{PAYER}]\nendpoint = "{simulator.url}/{PAYER}"\nversion = "4.03.00"\n{settings}\n'
        async with open_channels(payers_file(folder, line), environment=os.environ) as channels:
            cipher, clock = cipher_of(new_key("k1")), HandClock()
            limits = limits_by_payer({name: channel.settings for name, channel in channels.items()})
            async with store.transaction() as tx:
                due = NOW + timedelta(hours=48)
                await tx.claims.receive_all([(Arrival(DERIVED, PAYER, due, "x", "200000000001"), NOW)])
                await tx.payloads.put(DERIVED, seal_payload(cipher, DERIVED, FILE), now=NOW)
            yield Scene(Protocols(store, limits, cipher, channels, clock), simulator, clock)


@pytest.fixture
async def scene(store: Store, tmp_path: Path) -> AsyncIterator[Scene]:
    async with opened(store, tmp_path) as played:
        yield played


@pytest.fixture
async def locked_out(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    """A payer that knows another password than we do."""
    monkeypatch.setenv("WRONG_PASSWORD", "secret")
    async with opened(store, tmp_path, ACCOUNTS, WRONG) as played:
        yield played


async def test_an_accepted_claims_own_protocol_is_asked_for(scene: Scene) -> None:
    protocol = await scene.take("200000000001", 1)
    async with scene.store.transaction() as tx:
        await tx.claims.move(DERIVED, ClaimState.ACCEPTED, now=NOW, protocol_number=protocol)
    answer = await scene.protocols.ask(CLAIM)
    assert (answer.situation.status, answer.is_news) == (ProtocolStatus.RECEIVED, False)


async def test_refused_credentials_cost_one_login_however_often_people_ask(locked_out: Scene) -> None:
    with pytest.raises(ProtocolTrouble, match=f"`reenvio payer resume {PAYER}`"):
        await locked_out.protocols.ask(CLAIM, "900000000001")
    assert (await locked_out.status()).state is PayerState.STOPPED
    for _ in range(6):
        with pytest.raises(NotNow, match=f"lock the account.* `reenvio payer resume {PAYER}`"):
            await locked_out.protocols.ask(CLAIM, "900000000001")
    assert locked_out.calls == 1
    await locked_out.orders.resume(PAYER, NOW)
    with pytest.raises(ProtocolTrouble):
        await locked_out.protocols.ask(CLAIM, "900000000001")
    assert locked_out.calls == 2


async def test_refused_credentials_cost_one_login_when_many_ask_at_once(locked_out: Scene) -> None:
    asking = (locked_out.protocols.ask(CLAIM, f"90000000000{n}") for n in range(6))
    results = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(result, ProtocolTrouble | NotNow) for result in results)
    assert locked_out.calls == 1


async def test_an_outage_that_a_question_meets_counts_like_one_that_a_send_meets(
    store: Store, tmp_path: Path
) -> None:
    down = always(do="http", status=503)
    async with opened(store, tmp_path, down, f"{RULE}\nbreaker = {{ failures = 2 }}") as scene:
        for _ in range(2):
            with pytest.raises(ProtocolTrouble, match="HTTP:503"):
                await scene.protocols.ask(CLAIM, "900000000001")
        assert (await scene.status()).state is PayerState.OPEN


async def test_a_status_service_of_its_own_says_nothing_about_the_one_that_takes_claims(
    store: Store, tmp_path: Path
) -> None:
    apart = f'{RULE}\nbreaker = {{ failures = 1 }}\nstatus_endpoint = "http://127.0.0.1:9/status"'
    async with opened(store, tmp_path, settings=apart) as scene:
        with pytest.raises(ProtocolTrouble, match="NET:"):
            await scene.protocols.ask(CLAIM, "900000000001")
        assert (await scene.status()).state is PayerState.CLOSED


async def test_a_good_answer_counts_in_the_pace_and_proves_nothing(scene: Scene) -> None:
    await scene.lose_the_answer(await scene.take("200000000001", 1))
    await scene.orders.trip(PAYER, NOW, reason="test")
    scene.clock.wait(minutes=6)
    await scene.protocols.ask(CLAIM)
    status = await scene.status()
    assert (status.state, status.proven) == (PayerState.OPEN, False)
    assert status.paced_until == scene.clock.moment + PayerLimits().interval
    async with scene.store.reading() as tx:
        assert await tx.payers.in_flight(PAYER, now=scene.clock.moment) == 0


async def test_the_payers_wish_to_come_later_is_kept(store: Store, tmp_path: Path) -> None:
    busy = always(do="http", status=429, retry_after=90)
    async with opened(store, tmp_path, busy) as scene:
        with pytest.raises(ProtocolTrouble, match="HTTP:429"):
            await scene.protocols.ask(CLAIM, "900000000001")
        with pytest.raises(NotNow, match="asked to come later"):
            await scene.protocols.ask(CLAIM, "900000000001")
        scene.clock.wait(seconds=91)
        with pytest.raises(ProtocolTrouble, match="HTTP:429"):
            await scene.protocols.ask(CLAIM, "900000000001")
        assert scene.calls == 2


async def test_what_a_damaged_answer_names_is_recovered_when_the_payer_confirms_it(scene: Scene) -> None:
    protocol = await scene.take("200000000001", 1)
    await scene.lose_the_answer(protocol)
    assert (await scene.protocols.ask(CLAIM)).is_news
    assert await scene.protocols.recovered(CLAIM, None) == protocol
    assert await scene.protocols.recovered(CLAIM, protocol) == protocol


async def test_another_batchs_protocol_is_not_recovered(scene: Scene) -> None:
    other = await scene.take("300", 7)
    await scene.lose_the_answer(await scene.take("200000000001", 1))
    answer = await scene.protocols.ask(CLAIM, other)
    with pytest.raises(ProtocolTrouble, match="it is of batch 300"):
        answer.require_own()
    with pytest.raises(ProtocolTrouble, match=r"it is of batch 300.* --unchecked"):
        await scene.protocols.recovered(CLAIM, other)


@pytest.mark.parametrize(("status", "why"), [(7, "not found"), (9, "cancelled")])
async def test_a_protocol_that_the_payer_calls_void_is_not_recovered(
    store: Store, tmp_path: Path, status: int, why: str
) -> None:
    async with opened(store, tmp_path, {"statuses": [{"after": "PT0S", "status": status}]}) as scene:
        protocol = await scene.take("200000000001", 1)
        with pytest.raises(ProtocolTrouble, match=f"the payer says {why}.* --unchecked"):
            await scene.protocols.recovered(CLAIM, protocol)


async def test_a_protocol_that_the_payer_does_not_know_is_not_recovered(scene: Scene) -> None:
    with pytest.raises(ProtocolTrouble, match=r"TISS:3291.* --unchecked"):
        await scene.protocols.recovered(CLAIM, "900000000999")


async def test_a_protocol_that_the_payer_does_not_know_is_told_as_that_with_what_to_do(scene: Scene) -> None:
    said = (
        r"^The payer does not know protocol 900000000999 \(TISS:3291\): compare .* ask the payer by the batch"
    )
    with pytest.raises(ProtocolTrouble, match=said):
        await scene.protocols.ask(CLAIM, "900000000999")


async def test_without_a_number_nobody_is_asked(scene: Scene) -> None:
    with pytest.raises(ClaimRefusal, match=r"has no protocol: it is RECEIVED.* --protocol"):
        await scene.protocols.ask(CLAIM)
    with pytest.raises(ClaimRefusal, match="1 to 12 characters"):
        await scene.protocols.ask(CLAIM, "Maria Silva")
    with pytest.raises(ClaimRefusal, match="not known here"):
        await scene.protocols.ask(ClaimId("CLM-9-9"), "1")
    assert scene.calls == 0
