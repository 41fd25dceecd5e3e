"""The simulated payer takes each batch once, checks what payers check, and plays its scenario."""

import pytest

from gateways.tiss.names import FaultWord, Version
from tests.support.simulator import OfflinePayer, batch
from tests.support.tiss_samples import LOGIN, lote

HOUR_OUTAGE = [{"start": "PT0S", "end": "PT1H", "then": {"do": "http", "status": 503}}]


def test_a_batch_is_taken_once_and_then_known() -> None:
    payer = OfflinePayer()
    assert b">900000000001<" in payer.send("1").body
    again = payer.send("1")
    assert (again.status, b">3268<" in again.body) == (200, True)
    assert payer.verdicts == ["taken", "refused:3268"]
    assert payer.ledger.times_taken() == {("999999", "1"): 1}


@pytest.mark.parametrize("version", [Version.V4_01_00, Version.V4_02_00])
def test_before_4_03_a_known_batch_is_told_by_its_guides(version: Version) -> None:
    payer = OfflinePayer(version=version)
    payer.send("1")
    assert b">1308<" in payer.send("1").body


def test_a_known_guide_in_another_batch_is_refused() -> None:
    payer = OfflinePayer()
    payer.send("1", first=1)
    assert b">1308<" in payer.send("2", first=1).body
    assert b">900000000002<" in payer.send("3", first=2).body


@pytest.mark.parametrize(
    ("settings", "old", "new", "word"),
    [
        ({}, b">999999<", b">111111<", FaultWord.WRONG_ADDRESSEE),
        ({"providers": ["OTHER"]}, b"", b"", FaultWord.WRONG_SENDER),
        ({"version": "4.02.00"}, b"", b"", FaultWord.WRONG_VERSION),
        ({"accounts": {"PREST0001": "0" * 32}}, b"", b"", FaultWord.WRONG_LOGIN),
        ({"accounts": {"OTHER": LOGIN.password_md5}}, b"", b"", FaultWord.WRONG_LOGIN),
        ({}, b"<ans:UF>35</ans:UF>", b"", FaultWord.WRONG_SCHEMA),
        ({}, b">150.00<", b">151.00<", FaultWord.WRONG_HASH),
        ({"hash_encoding": "utf-8"}, b"", b"", FaultWord.WRONG_HASH),
    ],
)
def test_each_check_has_its_word(
    settings: dict[str, object], old: bytes, new: bytes, word: FaultWord
) -> None:
    payer = OfflinePayer(**settings)
    answer = payer.hand_in(batch(lote("1")).replace(old, new))
    assert (answer.status, word.encode() in answer.body) == (500, True)
    assert payer.ledger.times_taken() == {}


@pytest.mark.parametrize(
    ("settings", "old", "new", "code"),
    [
        ({"version": "4.02.00"}, b"", b"", b">5028<"),
        ({}, b"<ans:UF>35</ans:UF>", b"", b">5001<"),
        ({}, b">150.00<", b">151.00<", b">5014<"),
    ],
)
def test_some_payers_say_the_same_by_code(
    settings: dict[str, object], old: bytes, new: bytes, code: bytes
) -> None:
    answer = OfflinePayer(refuse_by="code", **settings).hand_in(batch(lote("1")).replace(old, new))
    assert (answer.status, code in answer.body) == (200, True)


def test_more_than_a_hundred_guides_are_too_many() -> None:
    assert b">5015<" in OfflinePayer().hand_in(batch(lote("1", guides=101))).body


@pytest.mark.parametrize("body", [b"", b"<html/>", b"noise", b"<!DOCTYPE a []><a/>"])
def test_what_is_no_message_is_a_schema_fault(body: bytes) -> None:
    assert b"SchemaInvalido" in OfflinePayer().hand_in(body).body


def test_five_bad_logins_lock_the_account_even_for_the_right_password() -> None:
    payer = OfflinePayer(accounts={"PREST0001": LOGIN.password_md5})
    wrong = batch(lote("1")).replace(LOGIN.password_md5.encode(), b"0" * 32)
    for _ in range(4):
        assert b"LoginInvalido" in payer.hand_in(wrong).body
    assert b"protocoloRecebimento>" in payer.send("1").body
    for _ in range(5):
        payer.hand_in(wrong)
    assert b"LoginInvalido" in payer.send("2", first=2).body


def test_a_protocol_moves_with_the_clock_and_an_unknown_one_is_not_found() -> None:
    payer = OfflinePayer()
    payer.send("1")
    for hours, status in ((0, 1), (1, 2), (30, 3), (300, 6)):
        payer.wait(hours=hours)
        assert f"statusProtocolo>{status}<".encode() in payer.ask("900000000001").body
    assert b">3291<" in payer.ask("1").body
    assert b">3162<" in OfflinePayer(version="4.01.00").ask("1").body


def test_a_cancellation_has_six_answers() -> None:
    payer = OfflinePayer()
    payer.send("1")
    assert b"statusCancelamento>5<" in payer.cancel("2").body
    assert b"statusCancelamento>6<" in payer.cancel("1", "77").body
    assert b"statusCancelamento>1<" in payer.cancel("1", "900000000001").body
    assert b"900000000002" in payer.send("1").body
    payer.wait(days=2)
    assert b"statusCancelamento>2<" in payer.cancel("1").body
    for forced in (3, 4):
        assert f"Cancelamento>{forced}<".encode() in OfflinePayer(cancel_status=forced).cancel("1").body


def test_an_outage_follows_the_clock() -> None:
    payer = OfflinePayer(outages=HOUR_OUTAGE)
    assert payer.send("1").status == 503
    payer.wait(minutes=59)
    assert payer.send("1").status == 503
    payer.wait(minutes=1)
    assert payer.send("1").status == 200
    assert payer.verdicts == ["http:503", "http:503", "taken"]


def test_overload_is_told_with_the_time_to_wait() -> None:
    payer = OfflinePayer(requests_per_minute=2)
    assert [payer.send(str(n), first=n).status for n in (1, 2, 3)] == [200, 200, 429]
    assert payer.send("3").retry_after == 60
    payer.wait(seconds=61)
    assert payer.send("3", first=3).status == 200


def test_outside_its_hours_the_payer_is_closed() -> None:
    payer = OfflinePayer(hours={"opens": "08:00", "closes": "20:00", "zone": "UTC"})
    payer.wait(hours=10)
    answer = payer.send("1")
    assert (answer.status, answer.retry_after) == (503, 8 * 3600 + 1800)


def test_rules_choose_by_batch_arrival_and_turn() -> None:
    by_batch = OfflinePayer(rules=[{"lote": "9*", "then": {"do": "refuse", "code": "1001"}}])
    assert b">1001<" in by_batch.send("91", first=1).body
    assert b">900000000001<" in by_batch.send("1", first=2).body
    by_arrival = OfflinePayer(rules=[{"arrivals": [1, 2], "then": {"do": "drop"}}])
    assert [by_arrival.send("1").loss for _ in range(3)] == ["reset", "reset", None]
    by_turn = OfflinePayer(rules=[{"every": 2, "then": {"do": "http", "status": 504}}])
    assert [by_turn.send(str(n), first=n).status for n in (1, 2, 3, 4)] == [200, 504, 200, 504]
    by_time = OfflinePayer(rules=[{"window": {"end": "PT1M"}, "then": {"do": "soap-fault"}}])
    assert by_time.send("1").status == 500
    by_time.wait(minutes=2)
    assert by_time.send("1").status == 200


def test_a_rule_with_a_chance_meets_some_and_not_others() -> None:
    payer = OfflinePayer(rules=[{"chance": 0.5, "then": {"do": "http"}}])
    for n in range(1, 30):
        payer.send(str(n), first=n)
    assert set(payer.verdicts) == {"taken", "http:503"}


@pytest.mark.parametrize("how", ["close", "reset", "truncate", "hang"])
def test_a_lost_answer_is_lost_after_the_batch_was_taken(how: str) -> None:
    payer = OfflinePayer(rules=[{"then": {"do": "lose-answer", "how": how}}])
    assert payer.send("1").loss == how
    (entry,) = payer.ledger.entries
    assert (entry.verdict, entry.answered) == ("taken", False)


def test_delay_and_latency_add_up() -> None:
    payer = OfflinePayer(latency=[1, 2], rules=[{"then": {"do": "accept", "delay": 10}}])
    assert 11 <= payer.send("1").delay <= 12


def test_an_unreadable_batch_cannot_be_refused_by_code() -> None:
    payer = OfflinePayer(rules=[{"then": {"do": "refuse", "code": "1001"}}])
    assert b"SchemaInvalido" in payer.hand_in(b"noise").body
