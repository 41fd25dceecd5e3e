"""Exchanges in files: for support, for the owner only, without a person, and never in the way of a send."""

import json
import stat
from pathlib import Path

from structlog.testing import capture_logs

from gateways.tiss.exchange import Exchange, seen, trace_into
from gateways.tiss.judgement import HttpAnswer
from tests.support.tiss_samples import CARD, DOCTOR, NOW, PAYER, message_in, sample

CPF, CNS, PATIENT = "52998224725", "898001160651207", "Maria Aparecida da Silva"
PERSONS = (CARD, DOCTOR, DOCTOR.upper(), CPF, "529.982.247-25", CNS, PATIENT, "Aparecida", "PREST0001")
EXCHANGE = Exchange(NOW, "loteGuiasWS", "1", "<a/>", "HTTP 200: <b/>")
FILE = f"{PAYER}-2026-01-15.jsonl"


def indiscreet() -> Exchange:
    """A batch full of persons, and an answer that repeats them wherever it can."""
    batch = sample("request_loteGuiasWS").decode("iso-8859-1")
    person = f"<ans:nomeBeneficiario>{PATIENT}</ans:nomeBeneficiario><ans:numeroCNS>{CNS}</ans:numeroCNS>"
    full = batch.replace("<ans:atendimentoRN>", f"{person}<ans:CPF>{CPF}</ans:CPF><ans:atendimentoRN>", 1)
    places = ("numeroProtocolo", "numeroLote", "mensagem", "codigoGlosa", "numeroGuiaPrestador")
    said = "".join(f"<{place}>{text}</{place}>" for place in places for text in PERSONS)
    answer = f'<answer who="{PATIENT}">{PATIENT}{said}{CPF}</answer>'.encode()
    return seen(message_in(full.encode("iso-8859-1")), HttpAnswer(200, answer), "1", NOW)


def test_no_person_gets_into_the_file_and_the_numbers_of_the_business_do(tmp_path: Path) -> None:
    trace_into(tmp_path, PAYER)(indiscreet())
    text = (tmp_path / FILE).read_text(encoding="utf-8")
    assert [person for person in PERSONS if person in text] == []
    assert "<ans:numeroLote>200000000001</ans:numeroLote>" in json.loads(text)["request"]


def test_there_is_a_line_per_exchange_and_a_file_per_payer_and_day(tmp_path: Path) -> None:
    for payer in (PAYER, "../north"):
        trace_into(tmp_path / "new", payer)(EXCHANGE)
    trace_into(tmp_path / "new", PAYER)(EXCHANGE)
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == ["..%2Fnorth-2026-01-15.jsonl", FILE]
    lines = (tmp_path / "new" / FILE).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["at"] for line in lines] == ["2026-01-15T13:30:00+00:00"] * 2


def test_only_the_owner_may_read_it_even_if_it_was_open_before(tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / FILE).touch(mode=0o666)
    for folder in (tmp_path / "trace", tmp_path / "new"):
        trace_into(folder, PAYER)(EXCHANGE)
        assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_trace_that_cannot_be_written_is_logged_and_disturbs_nobody(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with capture_logs() as logs:
        trace_into(tmp_path, PAYER)(EXCHANGE)
    assert [(line["event"], line["payer"]) for line in logs] == [("payer_trace_failed", PAYER)]
