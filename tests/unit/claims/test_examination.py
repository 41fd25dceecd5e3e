"""What is wrong with a file is said by field, rule and remedy, without a word of its content."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domain.refusals import Refusal, RefusalKind
from tests.support.payers_file import payers_file
from tests.support.tiss_samples import CARD, DOCTOR, NOW, PAYER, file_bytes, file_text
from workers.claims.examination import Channels, ClaimFile, examine
from workers.config.settings import SettingsError
from workers.payers.channels import open_channels

PAYERS = f"""
[payers.{PAYER}]
endpoint = "https://payer.example"
version = "4.03.00"

[payers.302147]
endpoint = "https://other.example"
version = "4.03.00"

[payers.night]
registro_ans = "302147"
endpoint = "https://other.example/night"
version = "4.03.00"
"""
GOOD = file_bytes(file_text())
LIMIT = 100_000


@pytest.fixture(scope="module")
async def channels(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Channels]:
    file = payers_file(tmp_path_factory.mktemp("payers"), PAYERS)
    async with open_channels(file) as opened:
        yield opened


def refusal(channels: Channels, data: bytes, payer: str | None = None) -> Refusal:
    with pytest.raises(Refusal) as refused:
        examine(ClaimFile(data, payer=payer), channels, NOW, max_bytes=LIMIT)
    message = str(refused.value)
    assert "\n" not in message
    assert CARD not in message
    assert DOCTOR not in message
    return refused.value


async def test_a_good_file_says_whose_it_is(channels: Channels) -> None:
    examined = examine(ClaimFile(GOOD), channels, NOW, max_bytes=LIMIT)
    assert (examined.payer_id, examined.batch_number, examined.guides) == (PAYER, "200000000001", 1)
    assert examined.provider.value == "PREST0001"


async def test_the_same_content_has_the_same_digest_however_it_is_written(channels: Channels) -> None:
    tight = file_bytes("".join(line.strip() for line in file_text().splitlines()), "UTF-8")
    digests = {examine(ClaimFile(data), channels, NOW, max_bytes=LIMIT).digest for data in (GOOD, tight)}
    assert len(digests) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no xml",
        GOOD[:-30],
        b'<!DOCTYPE x [<!ENTITY e "e">]><x>&e;</x>',
        GOOD.replace(b'"ISO-8859-1"', b'"UTF-7"'),
    ],
)
async def test_what_is_no_xml_is_malformed(channels: Channels, data: bytes) -> None:
    refused = refusal(channels, data)
    assert (refused.kind, refused.field) == (RefusalKind.MALFORMED, "file")


async def test_more_bytes_than_allowed_are_too_large(channels: Channels) -> None:
    assert refusal(channels, GOOD + b" " * LIMIT).kind is RefusalKind.TOO_LARGE


async def test_xml_that_is_no_batch_is_said_to_be_none(channels: Channels) -> None:
    refused = refusal(channels, b"<x/>")
    assert (refused.kind, refused.rule) == (RefusalKind.UNPROCESSABLE, "TISS loteGuias")


async def test_a_schema_violation_names_line_and_element(channels: Channels) -> None:
    broken = file_text().replace("<ans:UF>35</ans:UF>", "")
    assert "guide 1, CBOS: it is not expected here; expected is UF" in str(
        refusal(channels, file_bytes(broken))
    )
    assert "line " in str(refusal(channels, file_bytes(broken)))


async def test_a_payer_other_than_the_files_is_refused(channels: Channels) -> None:
    refused = refusal(channels, GOOD, payer="302147")
    assert refused.field == "payer"
    assert PAYER in str(refused)


async def test_a_payer_nobody_configured_is_refused_by_name(channels: Channels) -> None:
    other = file_bytes(file_text().replace(f"registroANS>{PAYER}", "registroANS>111111"))
    assert "[payers.111111]" in refusal(channels, other).remedy
    assert "[payers.nobody]" in refusal(channels, GOOD, payer="nobody").remedy
    assert "PAYERS_FILE" in refusal({}, GOOD).remedy


async def test_two_channels_to_one_payer_must_be_told_apart(channels: Channels) -> None:
    other = file_bytes(file_text().replace(f"registroANS>{PAYER}", "registroANS>302147"))
    assert "302147, night" in refusal(channels, other).remedy
    assert examine(ClaimFile(other, payer="night"), channels, NOW, max_bytes=LIMIT).payer_id == "night"


async def test_a_bare_batch_needs_a_payer_and_a_provider(channels: Channels) -> None:
    text = file_text()
    batch = text[text.index("<ans:loteGuias>") : text.index("</ans:prestadorParaOperadora>")]
    space = 'xmlns:ans="http://www.ans.gov.br/padroes/tiss/schemas"'
    bare = file_bytes(batch.replace("<ans:loteGuias>", f"<ans:loteGuias {space}>"))
    assert refusal(channels, bare).field == "payer"
    assert "provider" in str(refusal(channels, bare, payer=PAYER))


async def test_payer_settings_that_cannot_be_used_name_their_variable(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"PAYERS_FILE.*nowhere"):
        async with open_channels(tmp_path / "nowhere.toml"):
            pass
