"""Messages are built byte for byte as the samples have them, and valid in all three versions."""

import pytest
from lxml import etree

from gateways.tiss.lote import read_lote
from gateways.tiss.messages import Batch, cancel_message, envelope, lote_message, seal, status_message
from gateways.tiss.names import SIGNATURE, TransactionKind, Version, ans
from gateways.tiss.validation import Schemas
from tests.support.tiss_samples import (
    LOGIN,
    PROVIDER,
    file_bytes,
    file_text,
    header,
    lote,
    message_in,
    sample,
)

SCHEMAS = Schemas()


def test_the_sample_batch_is_reproduced_byte_for_byte() -> None:
    original = sample("request_loteGuiasWS")
    message = seal(lote_message(header(), read_lote(original)), "iso-8859-1")
    assert envelope(message, "iso-8859-1") == original


def test_the_sample_status_query_is_reproduced_byte_for_byte() -> None:
    asked = status_message(header(TransactionKind.ASK_STATUS, "100000000002"), PROVIDER, "900000000001")
    assert envelope(seal(asked, "iso-8859-1"), "iso-8859-1") == sample("request_solicitacaoStatusProtocoloWS")


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-8"])
@pytest.mark.parametrize("prefix", ["ans:", "tiss:", ""])
def test_a_file_gives_the_same_bytes_whatever_its_prefix_indentation_and_encoding(
    prefix: str, encoding: str
) -> None:
    declared = f"xmlns:{prefix[:-1]}" if prefix else "xmlns"
    text = file_text().replace("ans:", prefix).replace("xmlns:ans", declared)
    message = seal(lote_message(header(), read_lote(file_bytes(text, encoding))), "iso-8859-1")
    assert envelope(message, "iso-8859-1") == sample("request_loteGuiasWS")


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("guides", [1, 100])
def test_a_batch_is_valid_in_every_version(version: Version, guides: int) -> None:
    message = seal(lote_message(header(version=version), lote(guides=guides)), "iso-8859-1")
    assert SCHEMAS.violations(message, version) == ()


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("protocol", [None, "900000000001"])
def test_questions_and_cancellations_are_valid_in_every_version(
    version: Version, protocol: str | None
) -> None:
    asked = status_message(header(TransactionKind.ASK_STATUS, version=version), PROVIDER, "900000000001")
    batch = Batch("200000000001", protocol)
    cancelled = cancel_message(header(TransactionKind.CANCEL, version=version), PROVIDER, batch)
    assert SCHEMAS.violations(seal(asked, "utf-8"), version) == ()
    assert SCHEMAS.violations(seal(cancelled, "utf-8"), version) == ()


def test_text_can_be_folded_to_ascii_for_payers_that_disagree_on_hashes() -> None:
    message = lote_message(header(), lote(), ascii_text=True)
    name = message.findtext(f".//{ans('nomeProfissional')}")
    assert name == "Jose Ficticio da Conceicao"
    assert seal(message, "utf-8").findtext(ans("hash")) == seal(
        lote_message(header(), lote(), ascii_text=True), "iso-8859-1"
    ).findtext(ans("hash"))


def test_blanks_around_values_go_and_a_signed_batch_is_left_alone() -> None:
    blanks = file_text().replace("GP-0001", "  GP-0001 ")
    number = f".//{ans('numeroGuiaPrestador')}"
    assert lote_message(header(), read_lote(file_bytes(blanks))).findtext(number) == "GP-0001"
    signature = f'<s:SignedInfo xmlns:s="{SIGNATURE}"/></ans:guiaConsulta>'
    signed = read_lote(file_bytes(blanks.replace("</ans:guiaConsulta>", signature)))
    assert lote_message(header(), signed).findtext(number) == "  GP-0001 "


def test_building_a_message_leaves_the_batch_as_it_was() -> None:
    batch = lote()
    before = etree.tostring(batch.xml)
    first = envelope(seal(lote_message(header(), batch), "iso-8859-1"), "iso-8859-1")
    again = envelope(seal(lote_message(header(), batch), "iso-8859-1"), "iso-8859-1")
    assert etree.tostring(batch.xml) == before
    assert first == again


def test_a_utf_8_message_says_so() -> None:
    data = envelope(seal(lote_message(header(), lote()), "utf-8"), "utf-8")
    assert b"encoding='UTF-8'" in data
    assert "José" in data.decode("utf-8")
    assert message_in(data).tag == ans("loteGuiasWS")


def test_a_password_never_shows_in_a_repr() -> None:
    assert LOGIN.password_md5 not in repr(header())
