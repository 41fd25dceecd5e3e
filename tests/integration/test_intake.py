"""A file becomes one claim and one message, whatever is repeated and whatever breaks in between."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import event, text, update
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.errors import Trouble
from domain.refusals import Refusal, RefusalKind
from domain.reviews import ReviewReason
from gateways.tiss.lote import Lote, LoteRefusedError, read_lote
from gateways.zeebe.messages import ProcessMessage
from gateways.zeebe.refusals import CommandRefusedError
from persistence.database.watch import Access
from persistence.repositories.attempts import AttemptResult
from persistence.repositories.reviews import Review
from persistence.store import Store
from persistence.tables import claims
from tests.support.intake_stage import DERIVED, FILE, PAYERS, IntakeStage, intake_stage
from tests.support.tiss_samples import CARD, DOCTOR, NOW, PAYER, file_bytes, file_text
from workers.claims import batches
from workers.claims.examination import ClaimFile
from workers.claims.intake import MESSAGES_AT_ONCE, KnownClaim, NewClaim
from workers.claims.protocols import stored_file

OTHER = file_bytes(file_text(first=7))
CLAIM = ClaimId(DERIVED)
OWN = "CLM-own-1"


@pytest.fixture
async def stage(store: Store, tmp_path: Path) -> AsyncIterator[IntakeStage]:
    async with intake_stage(store, tmp_path) as opened:
        yield opened


async def in_review(stage: IntakeStage, reason: str = ReviewReason.PERMANENT_ERROR) -> None:
    async with stage.store.transaction() as tx:
        await tx.reviews.open(Review(DERIVED, 0, reason, None), job_key=1, now=NOW)
        await tx.claims.move(DERIVED, ClaimState.IN_REVIEW, now=NOW)


async def number_of_claims(stage: IntakeStage) -> int:
    async with stage.store.reading() as tx:
        return len(await tx.claims.all())


async def test_a_new_file_is_kept_and_started_by_references_only(stage: IntakeStage) -> None:
    result = await stage.intake.submit(ClaimFile(FILE))
    assert result == NewClaim(CLAIM, NOW + timedelta(hours=48))
    [message] = stage.broker.taken
    assert (message.name, message.correlationKey, message.messageId) == ("claim-ready", DERIVED, DERIVED)
    assert json.loads(message.variables) == {
        "claimId": DERIVED,
        "payerId": PAYER,
        "deadline": "2026-01-17T13:30:00Z",
    }
    assert await stored_file(stage.store, stage.intake.cipher, DERIVED) == FILE
    assert await stage.events() == ["received"]


async def test_a_file_that_an_earlier_version_took_in_is_known_when_it_is_handed_in_again(
    stage: IntakeStage, database: AsyncEngine
) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    async with database.begin() as connection:
        await connection.execute(update(claims).values(content_hash=read_lote(FILE).earlier_digest))
    assert isinstance(await stage.intake.submit(ClaimFile(FILE)), KnownClaim)


async def test_the_same_content_again_changes_nothing(stage: IntakeStage) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    again = [await stage.intake.submit(ClaimFile(FILE, deadline="9h")) for _ in range(3)]
    assert again == [KnownClaim(CLAIM, ClaimState.RECEIVED)] * 3
    assert len(stage.broker.taken) == 1
    assert await stage.events() == ["received"]


async def test_many_at_once_make_one_claim(stage: IntakeStage) -> None:
    results = await asyncio.gather(*(stage.intake.submit(ClaimFile(FILE)) for _ in range(6)))
    assert sum(isinstance(result, NewClaim) for result in results) == 1
    assert len(stage.broker.taken) == 1


async def test_a_bad_file_among_many_is_refused_and_the_others_share_a_few_commits(
    store: Store, tmp_path: Path
) -> None:
    seen: Counter[Access] = Counter()

    def watch(access: Access) -> AbstractContextManager[object]:
        seen[access] += 1
        return nullcontext()

    files = [file_bytes(file_text(f"{number:012d}", first=number)) for number in range(100, 160)]
    files[30] = file_bytes(file_text("000000000999").replace("<ans:UF>35</ans:UF>", ""))
    async with intake_stage(store.watched_by(watch), tmp_path) as stage:
        submitted = (stage.intake.submit(ClaimFile(data)) for data in files)
        results = await asyncio.gather(*submitted, return_exceptions=True)
        assert [place for place, result in enumerate(results) if not isinstance(result, NewClaim)] == [30]
        assert isinstance(results[30], Refusal)
        assert len(stage.broker.taken) == 59
    assert seen[Access.WRITE] == 2


async def test_no_more_messages_are_under_way_than_a_broker_takes(stage: IntakeStage) -> None:
    under_way, may_leave = 0, asyncio.Event()
    publish = stage.intake.commands.publish

    async def held(message: ProcessMessage) -> bool:
        nonlocal under_way
        under_way += 1
        await may_leave.wait()
        return await publish(message)

    stage.intake.commands.publish = held  # type: ignore[method-assign]
    files = [file_bytes(file_text(f"{number:012d}", first=number)) for number in range(100, 140)]
    submitting = asyncio.gather(*(stage.intake.submit(ClaimFile(data)) for data in files))
    async with asyncio.timeout(30):
        while await number_of_claims(stage) < len(files):
            await asyncio.sleep(0.01)
    assert under_way == MESSAGES_AT_ONCE
    may_leave.set()
    await submitting
    assert len(stage.broker.taken) == len(files)


async def test_other_content_under_the_same_id_is_a_conflict_with_the_way_out(stage: IntakeStage) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    with pytest.raises(Refusal, match="CORRECTED --file") as refused:
        await stage.intake.submit(ClaimFile(OTHER))
    assert refused.value.kind is RefusalKind.CONFLICT


@pytest.mark.parametrize("data", [FILE, OTHER], ids=["same content", "other content"])
@pytest.mark.parametrize("ids", [(None, OWN), (OWN, None), (OWN, "CLM-own-2")])
async def test_the_same_batch_under_another_id_is_refused_and_names_the_claim(
    stage: IntakeStage, data: bytes, ids: tuple[str | None, str | None]
) -> None:
    first = await stage.intake.submit(ClaimFile(FILE, claim_id=ids[0]))
    with pytest.raises(Refusal, match=f"its batch is known as {first.claim_id} ") as refused:
        await stage.intake.submit(ClaimFile(data, claim_id=ids[1]))
    assert refused.value.kind is RefusalKind.CONFLICT
    async with stage.store.reading() as tx:
        assert [claim.claim_id for claim in await tx.claims.all()] == [first.claim_id.value]
    assert len(stage.broker.taken) == 1


async def test_the_same_batch_under_many_ids_at_once_is_one_claim(stage: IntakeStage) -> None:
    files = [ClaimFile(FILE, claim_id=f"CLM-own-{n}") for n in range(6)]
    results = await asyncio.gather(*map(stage.intake.submit, files), return_exceptions=True)
    assert sum(isinstance(result, NewClaim) for result in results) == 1
    assert sum(isinstance(result, Refusal) for result in results) == 5
    assert len(stage.broker.taken) == 1


async def test_a_batch_that_its_payer_took_stays_one_claim_although_a_person_wrote_it_off(
    stage: IntakeStage,
) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    async with stage.store.transaction() as tx:
        attempt = await tx.attempts.start(DERIVED, 1, now=NOW)
        await tx.attempts.finish(DERIVED, attempt, AttemptResult("ACCEPTED"), now=NOW)
        assert await tx.claims.close(DERIVED, ClaimState.WRITTEN_OFF, now=NOW)
    with pytest.raises(Refusal, match=DERIVED):
        await stage.intake.submit(ClaimFile(FILE, claim_id="CLM-own-1"))


async def test_another_providers_batch_of_the_same_number_is_another_claim(stage: IntakeStage) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    elsewhere = file_bytes(file_text(first=9).replace("PREST0001", "PREST0002"))
    assert isinstance(await stage.intake.submit(ClaimFile(elsewhere)), NewClaim)
    assert isinstance(await stage.intake.submit(ClaimFile(file_bytes(file_text("300")))), NewClaim)


@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
async def test_no_kept_file_is_opened_while_its_payer_is_locked(
    stage: IntakeStage, database: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked: set[object] = set()
    seen: list[bool] = []

    def lock(connection: object, _cursor: object, statement: str, *_: object) -> None:
        if "payer_status" in statement and "FOR UPDATE" in statement:
            locked.add(connection)

    def reading(content: bytes) -> Lote:
        seen.append(bool(locked))
        return read_lote(content)

    event.listen(database.sync_engine, "after_cursor_execute", lock)
    for end in ("commit", "rollback"):
        event.listen(database.sync_engine, end, locked.discard)
    monkeypatch.setattr(batches, "read_lote", reading)
    await stage.intake.submit(ClaimFile(FILE))
    others = [file_bytes(file_text(first=9).replace("PREST0001", f"PREST000{n}")) for n in (2, 3)]
    for result in await asyncio.gather(*(stage.intake.submit(ClaimFile(other)) for other in others)):
        assert isinstance(result, NewClaim)
    assert set(seen) == {False}


async def test_whose_batch_it_is_is_not_guessed_when_the_file_is_gone(
    stage: IntakeStage, database: AsyncEngine
) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    async with database.begin() as connection:
        await connection.execute(text("DELETE FROM claim_payloads"))
    with pytest.raises(Refusal, match=DERIVED):
        await stage.intake.submit(ClaimFile(OTHER, claim_id=OWN))


async def test_a_claim_that_was_given_up_before_it_arrived_leaves_its_batch_free(stage: IntakeStage) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    async with stage.store.transaction() as tx:
        await tx.claims.move(DERIVED, ClaimState.CANCELLED, now=NOW)
    assert isinstance(await stage.intake.submit(ClaimFile(FILE, claim_id=OWN)), NewClaim)
    async with stage.store.transaction() as tx:
        await tx.claims.move(OWN, ClaimState.WRITTEN_OFF, now=NOW)
        await tx.attempts.start(OWN, 7, now=NOW)  # and no answer came
    with pytest.raises(Refusal, match="known as CLM-own-1 "):
        await stage.intake.submit(ClaimFile(FILE, claim_id="CLM-own-2"))


async def test_two_channels_to_one_payer_are_one_payer(store: Store, tmp_path: Path) -> None:
    second = (
        f'[payers.second]\nregistro_ans = "{PAYER}"\nendpoint = "https://b.example"\nversion = "4.03.00"\n'
    )
    async with intake_stage(store, tmp_path, payers=PAYERS + second) as stage:
        await stage.intake.submit(ClaimFile(FILE, payer=PAYER))
        with pytest.raises(Refusal, match=f"known as {DERIVED} "):
            await stage.intake.submit(ClaimFile(FILE, payer="second", claim_id=OWN))


async def test_a_claim_that_was_started_without_a_file_is_not_given_one(stage: IntakeStage) -> None:
    async with stage.store.transaction() as tx:
        await tx.claims.put(DERIVED, PAYER, ClaimState.WAITING, now=NOW)
    with pytest.raises(Refusal, match="other content"):
        await stage.intake.submit(ClaimFile(FILE))


async def test_a_refused_file_leaves_nothing(stage: IntakeStage) -> None:
    for file in (ClaimFile(b"<x/>"), ClaimFile(FILE, deadline="2020-01-01"), ClaimFile(FILE, claim_id="x")):
        with pytest.raises(Refusal):
            await stage.intake.submit(file)
    async with stage.store.reading() as tx:
        assert await tx.claims.all() == []
    assert stage.broker.taken == []


async def test_a_message_lost_with_the_engine_is_sent_when_the_file_comes_again(stage: IntakeStage) -> None:
    stage.broker.is_open = False
    with pytest.raises(CommandRefusedError):
        await stage.intake.submit(ClaimFile(FILE))
    stage.broker.is_open = True
    assert await stage.intake.submit(ClaimFile(FILE)) == KnownClaim(CLAIM, ClaimState.RECEIVED)
    assert len(stage.broker.taken) == 1
    assert await stage.events() == ["received"]


async def test_a_message_lost_with_the_engine_is_sent_by_the_sweep(stage: IntakeStage) -> None:
    stage.broker.is_open = False
    with pytest.raises(Trouble):
        await stage.intake.submit(ClaimFile(FILE, deadline="30h"))
    stage.broker.is_open = True
    assert await stage.intake.start_received() == 0  # it may be on its way right now
    stage.clock.wait(minutes=2)
    assert await stage.intake.start_received() == 1
    assert json.loads(stage.broker.taken[0].variables)["deadline"] == "2026-01-16T19:30:00Z"
    stage.clock.wait(minutes=2)
    assert await stage.intake.start_received() == 0
    assert len(stage.broker.taken) == 1


async def test_the_sweep_leaves_alone_what_has_left(stage: IntakeStage) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    async with stage.store.transaction() as tx:
        await tx.claims.put(DERIVED, PAYER, ClaimState.SUBMITTING, now=NOW)
    stage.clock.wait(days=3)
    assert await stage.intake.start_received() == 0
    assert len(stage.broker.taken) == 1


async def test_when_the_engine_may_have_forgotten_a_message_the_next_is_not_left_to_wait(
    stage: IntakeStage,
) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    stage.broker.kept.clear()
    stage.clock.wait(hours=25)
    await stage.intake.start_received()
    await stage.intake.submit(ClaimFile(FILE))
    assert [message.timeToLive > 0 for message in stage.broker.taken] == [True, False, False]


async def test_a_corrected_file_replaces_the_first_in_review(stage: IntakeStage) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    await in_review(stage)
    await stage.intake.correct(CLAIM, OTHER)
    assert await stored_file(stage.store, stage.intake.cipher, DERIVED) == OTHER
    assert await stage.events() == ["received", "corrected"]
    assert await stage.intake.submit(ClaimFile(OTHER)) == KnownClaim(CLAIM, ClaimState.IN_REVIEW)


async def test_a_correction_does_not_take_another_claims_batch(stage: IntakeStage) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    await stage.intake.submit(ClaimFile(file_bytes(file_text("300"))))
    await in_review(stage)
    with pytest.raises(Refusal, match=f"known as CLM-{PAYER}-PREST0001-300 "):
        await stage.intake.correct(CLAIM, file_bytes(file_text("300", first=7)))
    await stage.intake.correct(CLAIM, file_bytes(file_text("301")))


async def test_outside_a_review_no_file_is_replaced(stage: IntakeStage) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    with pytest.raises(Refusal, match="not IN_REVIEW"):
        await stage.intake.correct(CLAIM, OTHER)
    with pytest.raises(Trouble, match="not known"):
        await stage.intake.correct(ClaimId("CLM-9-9"), OTHER)
    assert await stored_file(stage.store, stage.intake.cipher, DERIVED) == FILE


async def test_what_the_payer_has_is_not_corrected(stage: IntakeStage) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    await in_review(stage, ReviewReason.PROTOCOL_MISSING)
    with pytest.raises(Refusal, match="PROTOCOL_RECOVERED"):
        await stage.intake.correct(CLAIM, OTHER)


async def test_what_the_payer_may_have_keeps_its_batch_number(stage: IntakeStage) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    async with stage.store.transaction() as tx:
        await tx.attempts.start(DERIVED, 7, now=NOW)  # and no answer came
    await in_review(stage)
    with pytest.raises(Refusal, match=r"batch number is not .* may have reached the payer"):
        await stage.intake.correct(CLAIM, file_bytes(file_text("300")))
    with pytest.raises(Refusal, match=r"guide numbers .* may have reached the payer"):
        await stage.intake.correct(CLAIM, OTHER)
    mended = file_bytes(file_text().replace(DOCTOR, "Outro Nome"))
    await stage.intake.correct(CLAIM, mended)
    assert await stored_file(stage.store, stage.intake.cipher, DERIVED) == mended


async def test_what_the_payer_has_cancelled_may_get_a_new_batch_number(stage: IntakeStage) -> None:
    await stage.intake.submit(ClaimFile(FILE))
    async with stage.store.transaction() as tx:
        await tx.attempts.start(DERIVED, 7, now=NOW)  # and no answer came
        await tx.attempts.undo(DERIVED, before=2, now=NOW)
    await in_review(stage)
    renumbered = file_bytes(file_text("300"))
    await stage.intake.correct(CLAIM, renumbered)
    assert await stored_file(stage.store, stage.intake.cipher, DERIVED) == renumbered
    claim = await stage.store.look(lambda tx: tx.claims.find(DERIVED))
    assert claim is not None
    assert claim.batch_number == "300"


async def test_a_claim_without_a_file_says_so(stage: IntakeStage) -> None:
    with pytest.raises(LoteRefusedError, match="No file is stored"):
        await stored_file(stage.store, stage.intake.cipher, "CLM-9-9")


async def test_nothing_shows_the_file(stage: IntakeStage) -> None:
    file = ClaimFile(FILE)
    await stage.intake.submit(file)
    shown = repr(file) + repr(stage.broker.taken)
    assert CARD not in shown
    assert DOCTOR not in shown


async def test_a_broker_that_has_too_much_to_do_is_asked_again(stage: IntakeStage) -> None:
    stage.broker.crowded = 3
    assert isinstance(await stage.intake.submit(ClaimFile(FILE)), NewClaim)
    assert len(stage.broker.taken) == 1
