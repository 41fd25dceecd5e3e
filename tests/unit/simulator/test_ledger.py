"""The ledger remembers, also over a restart, and holds no persons."""

from pathlib import Path

from gateways.practice.simulator.ledger import Ledger
from tests.support.simulator import OfflinePayer
from tests.support.tiss_samples import CARD, DOCTOR, LOGIN


def test_a_restart_knows_what_was_taken_and_goes_on_counting(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    before = OfflinePayer(Ledger(file))
    before.send("1", first=1)
    before.send("1", first=1)
    after = OfflinePayer(Ledger(file))
    assert after.ledger.entries == before.ledger.entries
    assert b">3268<" in after.send("1", first=1).body
    assert b">900000000002<" in after.send("2", first=2).body
    assert len(file.read_text(encoding="utf-8").splitlines()) == 4


def test_a_cancelled_batch_is_free_again_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    before = OfflinePayer(Ledger(file))
    before.send("1")
    before.cancel("1")
    after = OfflinePayer(Ledger(file))
    assert after.ledger.taken("999999", "1") is None
    assert b">900000000002<" in after.send("1").body


def test_nothing_personal_is_written(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    OfflinePayer(Ledger(file)).send("1")
    text = file.read_text(encoding="utf-8")
    assert "GP-0001" in text
    for secret in (CARD, DOCTOR, LOGIN.password_md5):
        assert secret not in text


def test_arrivals_are_counted_by_payer_and_batch() -> None:
    payer = OfflinePayer(outages=[{"end": "PT1H"}])
    payer.send("1")
    payer.send("1")
    assert payer.ledger.arrivals("999999", "1") == 2
    assert payer.ledger.arrivals("111111", "1") == 0
