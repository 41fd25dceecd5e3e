"""The schemas say line, guide, element and rule, and never a value."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError

import pytest
from lxml import etree

from gateways.tiss.lote import read_lote
from gateways.tiss.messages import lote_message, seal
from gateways.tiss.names import Version, ans
from gateways.tiss.validation import Schemas, Violation, listed, unwritable
from tests.support.tiss_samples import file_bytes, file_text, header, message_in, sample

SCHEMAS = Schemas()
SECRET = "98765432109876543210987"


def violations(text: str, version: Version = Version.V4_03_00) -> tuple[Violation, ...]:
    message = lote_message(header(version=version), read_lote(file_bytes(text)))
    return SCHEMAS.violations(seal(message, "iso-8859-1"), version)


def line_of(text: str, word: str) -> int:
    lines = file_bytes(text).decode("iso-8859-1").splitlines()
    return next(number for number, line in enumerate(lines, 1) if word in line)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        (">00000000000000001<", f">{SECRET}<", "the value is too long"),
        ("<ans:numeroGuiaPrestador>GP-0002<", "<ans:numeroGuiaPrestador><", "the value is too short"),
        (">2026-01-10<", ">ontem<", "the value is not of the required type"),
        (">22<", f">{SECRET}<", "the value is not one of the standard's table"),
        (">150.00<", ">150.001<", "the number has too many decimal places"),
        (">150.00<", ">99999999999.00<", "the number has too many digits"),
        (f">{999999}<", ">12345X<", "the value does not have the required form"),
        ("<ans:UF>", f'<ans:UF a="{SECRET}">', "an attribute is not allowed here"),
    ],
)
def test_a_bad_value_is_told_by_line_and_rule(old: str, new: str, rule: str) -> None:
    good = file_text(guides=2)
    before, _, last = good.rpartition(old)
    text = f"{before}{new}{last}"
    found = violations(text)
    assert [violation.rule for violation in found] == [rule]
    assert found[0].line == line_of(text, new)
    assert found[0].guide == 2
    assert SECRET not in str(found[0])
    assert str(found[0]) == f"line {found[0].line}, guide 2, {found[0].element}: {rule}"


def test_an_element_out_of_place_is_named_with_what_was_expected() -> None:
    text = file_text().replace("<ans:UF>35</ans:UF>", f"<ans:Estado>{SECRET}</ans:Estado>")
    (found,) = violations(text)
    assert (found.element, found.rule) == ("Estado", "it is not expected here; expected is UF")


def test_a_missing_element_is_named() -> None:
    text = file_text().replace("<ans:CNES>9999999</ans:CNES>", "")
    (found,) = violations(text)
    assert found.element == "contratadoExecutante"
    assert found.rule == "an element is missing after its last one; expected is CNES"


def test_101_guides_are_too_many() -> None:
    assert violations(file_text(guides=101))
    assert not violations(file_text(guides=100))


def test_of_many_faults_the_first_five_are_listed_and_the_others_counted() -> None:
    faults = tuple(Violation("UF", "it is wrong", line) for line in range(1, 8))
    assert listed(faults[:5]) == "; ".join(f"line {line}, UF: it is wrong" for line in range(1, 6))
    assert listed(faults) == f"{listed(faults[:5])}; and 2 more"


def test_not_more_than_twenty_faults_are_told() -> None:
    assert len(violations(file_text(guides=50).replace(">2026-01-10<", ">x<"))) == 20


def test_a_fault_in_our_own_header_points_to_the_settings() -> None:
    message = lote_message(header(sequence="far-too-long-a-number"), read_lote(file_bytes(file_text())))
    (found,) = SCHEMAS.violations(seal(message, "iso-8859-1"), Version.V4_03_00)
    assert found.line is None
    assert str(found).startswith("header (see the payer's settings), sequencialTransacao")


def test_a_version_refuses_what_only_a_later_one_knows() -> None:
    letters = "<ans:cnpjContratado>AB345678000195</ans:cnpjContratado>"
    text = file_text().replace(
        "<ans:codigoPrestadorNaOperadora>PREST0001</ans:codigoPrestadorNaOperadora>\n          <ans:CNES>",
        f"{letters}\n          <ans:CNES>",
    )
    assert letters in text
    assert violations(text, Version.V4_03_00) == ()
    assert [v.element for v in violations(text, Version.V4_02_00)] == ["cnpjContratado"]


@pytest.mark.parametrize(
    "name", ["request_loteGuiasWS", "response_protocoloRecebimento", "response_situacaoProtocoloWS"]
)
def test_the_samples_are_valid(name: str) -> None:
    assert SCHEMAS.violations(message_in(sample(name)), Version.V4_03_00) == ()


def test_an_unknown_message_is_refused() -> None:
    message = message_in(sample("request_loteGuiasWS"))
    message.tag = ans("loteDeOutraCoisa")
    assert [v.rule for v in SCHEMAS.violations(message, Version.V4_03_00)] == [
        "the message is not one of this version"
    ]


def test_a_character_the_payer_cannot_read_is_told_by_line() -> None:
    text = file_text().replace("José", "J€sé")
    message = lote_message(header(), read_lote(file_bytes(text, "UTF-8")))
    (found,) = unwritable(message, "iso-8859-1")
    assert (found.element, found.line, found.guide) == ("nomeProfissional", line_of_utf8(text, "J€sé"), 1)
    assert "ISO-8859-1" in found.rule
    assert unwritable(message, "utf-8") == ()


def line_of_utf8(text: str, word: str) -> int:
    lines = file_bytes(text, "UTF-8").decode("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if word in line)


def test_no_two_threads_compile_a_schema_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_it, two, met = etree.XMLSchema, Barrier(2), []

    def compiled(file: str) -> etree.XMLSchema:
        try:
            met.append(two.wait(timeout=0.2))
        except BrokenBarrierError:
            two.reset()
        return compile_it(file=file)

    monkeypatch.setattr(etree, "XMLSchema", compiled)
    schemas = Schemas()
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: schemas.load([Version.V4_03_00]), range(2)))
    assert met == []
