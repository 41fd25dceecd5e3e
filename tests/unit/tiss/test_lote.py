"""A hospital's file is read in its usual forms, and refused with one clear line."""

import pytest

from gateways.tiss.lote import LoteRefusedError, read_lote
from gateways.tiss.names import ANS
from tests.support.tiss_samples import PAYER, PROVIDER, file_bytes, file_text, lote, sample


def bare() -> str:
    inside = file_text().partition("<ans:prestadorParaOperadora>")[2]
    batch = inside.partition("</ans:prestadorParaOperadora>")[0].strip()
    return batch.replace("<ans:loteGuias>", f'<ans:loteGuias xmlns:ans="{ANS}">', 1)


def test_a_file_tells_batch_guides_payer_provider_and_version() -> None:
    read = lote("77", guides=3)
    assert (read.number, read.guides, read.guide_type) == (
        "77",
        ("GP-0001", "GP-0002", "GP-0003"),
        "guiaConsulta",
    )
    assert (read.registro_ans, read.provider, read.version) == (PAYER, PROVIDER, "4.03.00")


def test_a_soap_message_and_a_bare_batch_are_the_same_batch() -> None:
    forms = [
        read_lote(sample("request_loteGuiasWS")),
        lote(),
        read_lote(file_bytes(bare())),
        read_lote(file_bytes(file_text(), "UTF-8")),
    ]
    assert len({form.digest for form in forms}) == 1
    assert {form.number for form in forms} == {"200000000001"}


def test_another_value_is_another_digest() -> None:
    assert lote("1").digest != lote("2").digest


def test_the_file_hash_is_looked_at_but_decides_nothing() -> None:
    assert read_lote(sample("request_loteGuiasWS")).hash_agrees is True
    assert lote().hash_agrees is False
    assert read_lote(file_bytes(bare())).hash_agrees is None
    two = file_text().replace("<ans:epilogo>", "<ans:epilogo><ans:hash>1</ans:hash>")
    assert read_lote(file_bytes(two)).hash_agrees is False


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b"guia;valor\n1;2", "not well-formed"),
        (file_bytes(file_text())[:900], "not well-formed XML, see line"),
        (file_bytes(f'<ans:mensagemTISS xmlns:ans="{ANS}"/>'), "holds no loteGuias"),
        (file_bytes("<other/>"), "holds no loteGuias"),
        (file_bytes(f'<ans:loteGuias xmlns:ans="{ANS}"/>'), "no guides"),
        (file_bytes(file_text(guides=0)), "no guides"),
        (file_bytes(file_text(guides=1_001)), "holds 1001 guides, and the standard allows 100: split it"),
        (file_bytes(file_text().replace(">200000000001<", "> <")), "no numeroLote"),
        (sample("response_protocoloRecebimento"), "holds no loteGuias"),
        (file_bytes(file_text().replace("<ans:UF>35</ans:UF>", "<ans:hash/>")), "belongs into the epilogue"),
        (
            b'<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body/></s:Envelope>',
            "SOAP body",
        ),
    ],
)
def test_what_is_no_batch_is_refused_in_one_line(data: bytes, why: str) -> None:
    with pytest.raises(LoteRefusedError, match=why) as refused:
        read_lote(data)
    assert "\n" not in str(refused.value)


def test_a_guide_without_a_number_leaves_a_gap() -> None:
    text = file_text().replace("numeroGuiaPrestador", "semNumero")
    assert read_lote(file_bytes(text)).guides == ("",)
