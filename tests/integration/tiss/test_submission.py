"""Batches go out over real HTTP; whatever the payer does becomes one typed outcome."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from domain.submission import (
    Accepted,
    AccessDenied,
    AnswerLost,
    Duplicate,
    Failed,
    Failure,
    PayerGateway,
    SendResult,
    Submission,
)
from gateways.tiss.client import TissClient
from gateways.tiss.exchange import Exchange
from gateways.tiss.faults import DENIED, DUPLICATE, LOST, LOST_DOWN, REFUSED, TRANSIENT, failure
from gateways.tiss.gateway import TissGateway, sequence_of
from gateways.tiss.messages import Batch
from gateways.tiss.names import FaultWord, Version
from gateways.tiss.outcomes import Cancellation, CancelStatus, ProtocolStatus, Situation
from tests.support.connected_payer import SCHEMAS, always, connected_payer
from tests.support.tiss_client import bare, open_client
from tests.support.tiss_samples import (
    CALL,
    CARD,
    DOCTOR,
    LOGIN,
    NOW,
    PAYER,
    PROVIDER,
    file_bytes,
    file_text,
    lote,
    payer,
)

ACCOUNT = {"login": LOGIN.name, "password": LOGIN.password_md5}
SHORT = {"timeouts": {"connect": 2, "read": 0.2, "total": 5}}


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-8"])
async def test_a_batch_is_taken_followed_and_cancelled_in_every_version(
    version: Version, encoding: str
) -> None:
    spoken: dict[str, object] = {"version": version, "encoding": encoding, "hash_encoding": encoding}
    accounts = {"accounts": {LOGIN.name: LOGIN.password_md5}}
    async with connected_payer({**spoken, **accounts}, {**spoken, **ACCOUNT}) as played:
        taken = await played.client.submit(lote(guides=3), CALL)
        assert taken == Accepted("900000000001", total="150.00")
        situation = await played.client.status(PROVIDER, "900000000001", CALL)
        assert situation == Situation(ProtocolStatus.RECEIVED, "900000000001", "200000000001")
        cancelled = await played.client.cancel(PROVIDER, Batch("200000000001"), CALL)
        assert cancelled == Cancellation(CancelStatus.CANCELLED, "200000000001")
        assert played.verdicts == ["taken", "told", "cancelled"]


async def outcome_of(behaviour: dict[str, object]) -> tuple[SendResult, list[str]]:
    waits = behaviour.get("how") == "hang" or behaviour.get("delay")
    async with connected_payer(always(**behaviour), SHORT if waits else None) as played:
        return await played.client.submit(lote(), CALL), played.verdicts


@pytest.mark.parametrize(
    ("behaviour", "expected", "code"),
    [
        ({"do": "refuse", "code": "1001"}, REFUSED, "TISS:1001"),
        ({"do": "refuse", "code": "3160"}, LOST, "TISS:3160"),
        ({"do": "refuse", "code": "1412"}, TRANSIENT, "TISS:1412"),
        ({"do": "refuse", "code": "3268"}, DUPLICATE, "TISS:3268"),
        ({"do": "soap-fault", "side": "Client"}, REFUSED, "SOAP:Client"),
        ({"do": "soap-fault", "side": "Server"}, LOST, "SOAP:Server"),
        ({"do": "http", "status": 401}, DENIED, "HTTP:401"),
        ({"do": "http", "status": 302}, REFUSED, "HTTP:404"),
        ({"do": "http", "status": 404}, REFUSED, "HTTP:404"),
        ({"do": "http", "status": 413}, REFUSED, "HTTP:413"),
        ({"do": "http", "status": 429, "retry_after": 7}, TRANSIENT, "HTTP:429"),
        ({"do": "http", "status": 500}, LOST, "HTTP:500"),
        ({"do": "http", "status": 502}, LOST_DOWN, "HTTP:502"),
        ({"do": "http", "status": 503, "body": "empty"}, LOST_DOWN, "HTTP:503"),
        ({"do": "http", "status": 504}, LOST_DOWN, "HTTP:504"),
        ({"do": "http", "status": 200, "body": "empty"}, LOST, "NET:EMPTY_BODY"),
        ({"do": "http", "status": 200, "body": "html"}, LOST, "NET:NOT_TISS"),
        ({"do": "drop", "how": "close"}, LOST_DOWN, "NET:RESET"),
        ({"do": "drop", "how": "reset"}, LOST_DOWN, "NET:RESET"),
        ({"do": "drop", "how": "hang"}, LOST_DOWN, "NET:READ_TIMEOUT"),
    ],
)
async def test_a_batch_that_was_not_taken(behaviour: dict[str, object], expected: Failure, code: str) -> None:
    outcome, verdicts = await outcome_of(behaviour)
    assert bare(outcome) == expected
    assert not isinstance(outcome, Accepted)
    assert outcome.code == code
    assert "taken" not in verdicts


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        ({"do": "lose-answer", "how": "close"}, "NET:RESET"),
        ({"do": "lose-answer", "how": "reset"}, "NET:RESET"),
        ({"do": "lose-answer", "how": "truncate"}, "NET:TRUNCATED"),
        ({"do": "lose-answer", "how": "hang"}, "NET:READ_TIMEOUT"),
        ({"do": "accept", "delay": 30}, "NET:READ_TIMEOUT"),
        ({"do": "garbage", "kind": "html"}, "NET:NOT_TISS"),
        ({"do": "garbage", "kind": "empty"}, "NET:EMPTY_BODY"),
        ({"do": "garbage", "kind": "not-http"}, "NET:NOT_HTTP"),
        ({"do": "garbage", "kind": "oversized"}, "NET:TOO_LARGE"),
        ({"do": "garbage", "kind": "entities"}, "NET:UNSAFE_XML"),
        ({"do": "garbage", "kind": "deep"}, "NET:UNSAFE_XML"),
        ({"do": "garbage", "kind": "cut"}, "NET:TRUNCATED"),
        ({"do": "garbage", "kind": "other-batch"}, "NET:OTHER_BATCH"),
        ({"do": "garbage", "kind": "bad-hash"}, "NET:ANSWER_HASH"),
    ],
)
async def test_a_batch_that_was_taken_but_whose_answer_was_lost_is_ambiguous(
    behaviour: dict[str, object], code: str
) -> None:
    outcome, verdicts = await outcome_of(behaviour)
    assert isinstance(outcome, AnswerLost)
    assert outcome.code == code
    assert verdicts == ["taken"]


async def test_noise_is_ambiguous_whatever_it_looks_like() -> None:
    outcome, _ = await outcome_of({"do": "garbage", "kind": "noise"})
    assert isinstance(outcome, AnswerLost)


@pytest.mark.parametrize("word", FaultWord)
@pytest.mark.parametrize("place", [{}, {"status": 200}, {"bare": True, "status": 200}, {"bare": True}])
async def test_each_fault_word_in_each_place(word: FaultWord, place: dict[str, object]) -> None:
    outcome, verdicts = await outcome_of({"do": "fault", "word": word} | place)
    assert not isinstance(outcome, Accepted)
    assert outcome.code == f"FAULT:{word}"
    assert verdicts == [f"fault:{word}"]


async def test_a_wrong_encoding_does_not_hide_an_acceptance() -> None:
    outcome, _ = await outcome_of({"do": "garbage", "kind": "wrong-encoding"})
    assert isinstance(outcome, Accepted)
    assert [glosa.meaning for glosa in outcome.glosas] == ["PROCEDIMENTO INVÁLIDO"]


@pytest.mark.parametrize(("level", "guide"), [("protocol", None), ("guide", "GP-0001")])
async def test_glosas_come_with_the_protocol(level: str, guide: str | None) -> None:
    outcome, _ = await outcome_of({"do": "accept", "glosa": level, "code": "1801"})
    assert isinstance(outcome, Accepted)
    assert [(g.level, g.code, g.guide) for g in outcome.glosas] == [(level, "1801", guide)]


async def test_the_payers_wish_to_wait_is_heard() -> None:
    outcome, _ = await outcome_of({"do": "http", "status": 429, "retry_after": 7})
    assert isinstance(outcome, Failed)
    assert not outcome.refused
    assert outcome.retry_after == timedelta(seconds=7)


async def test_a_resend_after_a_lost_answer_meets_the_first_and_nothing_is_taken_twice() -> None:
    lost_once = {"rules": [{"arrivals": [1], "then": {"do": "lose-answer", "how": "reset"}}]}
    async with connected_payer(lost_once) as played:
        assert isinstance(await played.client.submit(lote(), CALL), AnswerLost)
        assert isinstance(await played.client.submit(lote(), replace(CALL, sequence="2")), Duplicate)
        assert played.simulator.ledger.times_taken() == {(PAYER, "200000000001"): 1}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (file_text().replace("<ans:UF>35</ans:UF>", ""), "line 38, guide 1, CBOS: it is not expected here"),
        (file_text().replace(CARD, CARD * 2), "guide 1, numeroCarteira: the value is too long"),
        (file_text().replace(">999999<", ">111111<"), "the file is for another payer than 999999"),
        (file_text().replace("identificacaoPrestador", "x"), "name the provider"),
        (file_text().replace(">2026-01-10<", ">x<", 1), "dataAtendimento"),
    ],
)
async def test_a_batch_the_schema_refuses_never_leaves(text: str, why: str) -> None:
    gateway_file = file_bytes(text)
    async with connected_payer() as played:
        outcome = await send_file(played.client, gateway_file)
        assert isinstance(outcome, Failed)
        assert why in outcome.error
        assert CARD not in outcome.error
        assert played.verdicts == []


async def test_what_cannot_be_written_in_the_payers_encoding_never_leaves_unless_folded() -> None:
    text = file_bytes(file_text().replace("José", "Jośé"), "UTF-8")
    async with connected_payer() as played:
        refused = await send_file(played.client, text)
        assert isinstance(refused, Failed)
        assert "nomeProfissional: a character does not exist in ISO-8859-1" in refused.error
    async with connected_payer(settings={"ascii_text": True}) as played:
        assert isinstance(await send_file(played.client, text), Accepted)


async def send_file(client: TissClient, data: bytes) -> object:
    return await TissGateway({PAYER: client}).send(Submission("CLM-1", PAYER, 1, content=data), NOW)


async def test_the_gateway_says_what_came_of_a_send_and_never_raises() -> None:
    first = Submission("CLM-7", PAYER, 1, content=file_bytes(file_text("7")))
    rules = {"rules": [{"lote": "7", "arrivals": [1], "then": {"do": "lose-answer"}}]}
    async with connected_payer(rules) as played:
        gateway: PayerGateway = TissGateway({PAYER: played.client})
        assert isinstance(await gateway.send(first, NOW), AnswerLost)
        assert await gateway.send(replace(first, attempt=2), NOW) == failure("TISS:3268")
        unknown = await gateway.send(replace(first, payer_id="000000"), NOW)
        unreadable = await gateway.send(replace(first, content=b"junk"), NOW)
        without_a_file = await gateway.send(replace(first, content=None), NOW)
    assert isinstance(unknown, Failed)
    assert unknown.code == "FAULT:DestinatarioInvalido"
    assert isinstance(unreadable, Failed)
    assert unreadable.code == "FAULT:SchemaInvalido"
    assert isinstance(without_a_file, Failed)
    assert "No file is stored" in without_a_file.error
    assert [unknown.refused, unreadable.refused, without_a_file.refused] == [True] * 3


def test_a_sends_number_is_its_own_and_fits() -> None:
    first, second = Submission("CLM-1", PAYER, 1), Submission("CLM-1", PAYER, 2)
    assert sequence_of(first) == sequence_of(first) != sequence_of(second)
    assert len(sequence_of(first)) == 12


async def test_a_wrong_password_locks_after_five_so_we_are_told_at_the_first() -> None:
    accounts = {"accounts": {LOGIN.name: "0" * 32}}
    async with connected_payer(accounts, ACCOUNT) as played:
        outcome = await played.client.submit(lote(), CALL)
    assert outcome == AccessDenied("UNAUTHORIZED - login or password is wrong", "FAULT:LoginInvalido")


async def test_questions_and_cancellations_that_break_the_schema_never_leave() -> None:
    async with connected_payer() as played:
        status = await played.client.status(PROVIDER, "1" * 13, CALL)
        cancelled = await played.client.cancel(PROVIDER, Batch("1" * 13), CALL)
        assert isinstance(status, Failed)
        assert isinstance(cancelled, Failed)
        assert bare(status) == bare(cancelled) == REFUSED
        assert played.verdicts == []


def test_a_batch_can_be_checked_without_sending() -> None:
    client = TissClient(payer(), None, SCHEMAS)  # type: ignore[arg-type]  # nothing is sent
    assert client.check(lote(), CALL) == ()
    assert len(client.check(lote(guides=101), CALL)) == 1


async def test_a_listener_gets_every_exchange_and_no_person() -> None:
    seen: list[Exchange] = []
    async with (
        connected_payer() as played,
        open_client(payer(f"{played.simulator.url}/{PAYER}"), SCHEMAS, listener=seen.append) as client,
    ):
        await client.submit(lote(), CALL)
        await client.status(PROVIDER, "1", CALL)
    assert [exchange.message for exchange in seen] == ["loteGuiasWS", "solicitacaoStatusProtocoloWS"]
    assert "<ans:numeroLote>200000000001</ans:numeroLote>" in seen[0].request
    assert CARD not in repr(seen)
    assert DOCTOR not in repr(seen)


async def test_many_batches_at_once_are_each_taken_once() -> None:
    async with connected_payer(settings={"at_once": 8}) as played:
        batches = [lote(str(number), first=number) for number in range(1, 101)]
        outcomes = await asyncio.gather(*(played.client.submit(batch, CALL) for batch in batches))
        assert all(isinstance(outcome, Accepted) for outcome in outcomes)
        assert len({outcome.protocol_number for outcome in outcomes if isinstance(outcome, Accepted)}) == 100
        assert set(played.simulator.ledger.times_taken().values()) == {1}
