"""An export for one person's access request holds that person's guides only, and nobody's login."""

import json
from pathlib import Path

import pytest

from domain.claim_state import ClaimState
from gateways.tiss.excerpt import ExcerptRefusedError, WantedPerson, excerpt
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.payloads import seal_payload
from persistence.repositories.reviews import Review
from persistence.store import Store
from tests.support.builders import CLAIM, NOW
from tests.support.terminal import Terminal, terminal
from tests.support.tiss_samples import CARD, file_bytes, file_text, sample

__all__ = ["terminal"]
OTHER_CARD = "77777777777777777"
LOGIN = "<ans:loginSenhaPrestador><ans:loginPrestador>HOSP</ans:loginPrestador><ans:senhaPrestador>0123abcd</ans:senhaPrestador></ans:loginSenhaPrestador>"  # noqa: E501


def batch(guides: int = 3, *, login: bool = True) -> bytes:
    """Guides GP-0001 and later of one person, but GP-0002 is another's."""
    text = file_text(guides=guides)
    before, after = text.split("GP-0002") if guides > 1 else (text, "")
    mixed = f"{before}GP-0002{after.replace(CARD, OTHER_CARD, 1)}" if guides > 1 else text
    return file_bytes(mixed.replace("</ans:origem>", f"</ans:origem>{LOGIN}") if login else mixed)


@pytest.mark.parametrize(
    "wanted", [WantedPerson(card=CARD), WantedPerson(guide="GP-0003")], ids=["card", "guide"]
)
def test_only_the_persons_guides_are_in_the_excerpt(wanted: WantedPerson) -> None:
    found = excerpt(batch(), wanted)
    assert [number in found.text for number in ("GP-0001", "GP-0002", "GP-0003")] == [True, False, True]
    assert OTHER_CARD not in found.text
    assert found.others == {"GP-0002", OTHER_CARD}


def test_the_other_persons_guide_alone_is_theirs() -> None:
    found = excerpt(batch(), WantedPerson(guide="GP-0002"))
    assert [number in found.text for number in ("GP-0001", "GP-0002", "GP-0003", CARD)] == [
        False,
        True,
        False,
        False,
    ]


def test_a_batch_of_several_persons_needs_to_be_told_whose() -> None:
    with pytest.raises(ExcerptRefusedError, match="guides of 2 persons: name one by --card or --guide"):
        excerpt(batch(), WantedPerson())
    assert "GP-0001" in excerpt(batch(guides=1), WantedPerson()).text


@pytest.mark.parametrize(
    "wanted", [WantedPerson(card="1"), WantedPerson(guide="GP-9999")], ids=["card", "guide"]
)
def test_a_person_who_is_not_in_the_batch_is_refused(wanted: WantedPerson) -> None:
    with pytest.raises(ExcerptRefusedError, match="no guide of that person"):
        excerpt(batch(), wanted)


@pytest.mark.parametrize(
    "wanted", [WantedPerson(card=CARD), WantedPerson(whole_batch=True)], ids=["one", "all"]
)
def test_no_login_leaves_with_an_export(wanted: WantedPerson) -> None:
    found = excerpt(batch(), wanted).text
    assert [word in found for word in ("HOSP", "0123abcd", "loginPrestador", "senhaPrestador")] == [False] * 4


def test_no_login_of_a_whole_message_leaves_either() -> None:
    assert "senhaPrestador" in sample("request_loteGuiasWS").decode("iso-8859-1")
    assert "senhaPrestador" not in excerpt(sample("request_loteGuiasWS"), WantedPerson(whole_batch=True)).text


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_no_record_of_the_export_tells_another_persons_guide(
    terminal: Terminal, store: Store, tmp_path: Path
) -> None:
    key = new_key("k1")
    async with store.transaction() as tx:
        await tx.claims.put(CLAIM, "302147", ClaimState.WAITING, now=NOW)
        await tx.payloads.put(CLAIM, seal_payload(cipher_of(key), CLAIM, batch()), now=NOW)
        detail = "guide GP-0002 is known to the payer"
        await tx.reviews.open(Review(CLAIM, 0, "PERMANENT_ERROR", detail), job_key=1, now=NOW)
    code, _, err = await terminal.run("audit", "export", CLAIM, ENCRYPTION_KEYS=key)
    assert (code, "guides of 2 persons" in err) == (1, True)
    file = tmp_path / "one.jsonl"
    asked = ("audit", "export", CLAIM, "--guide", "GP-0001", "-o", str(file))
    assert (await terminal.run(*asked, ENCRYPTION_KEYS=key))[0] == 0
    written = file.read_text(encoding="utf-8")
    told = [word for word in ("GP-0001", "GP-0002", OTHER_CARD, "0123abcd") if word in written]
    assert told == ["GP-0001"]
    records = {json.loads(line)["record"] for line in written.splitlines()}
    assert records == {"claims", "claim_payloads", "reviews"}
