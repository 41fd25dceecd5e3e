"""Ids from files: always of the right shape, the same for the same batch, no person's number in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.claim import ClaimId, is_claim_id
from domain.refusals import Refusal
from gateways.tiss.parties import Provider, ProviderKind
from persistence.encryption.keys import cipher_of, new_key
from workers.claims.claim_ids import derived_claim_ids, given_claim_id, outward_id, read_claim_id

CIPHER = cipher_of(new_key("k1"))
PERSON = Provider("CPF", "52998224725")
KINDS = st.sampled_from(["CNPJ", "CPF", "codigoPrestadorNaOperadora"])


def derived_claim_id(registro_ans: str, provider: Provider, batch: str) -> ClaimId:
    """What a new claim is called."""
    return derived_claim_ids(CIPHER, registro_ans, provider, batch)[0]


def test_a_plain_batch_is_read_off_its_id() -> None:
    code = Provider("codigoPrestadorNaOperadora", "PREST0001")
    assert str(derived_claim_id("302147", code, "000123")) == "CLM-302147-PREST0001-000123"


@given(KINDS, st.text(min_size=1, max_size=14), st.text(min_size=1, max_size=12))
def test_every_batch_has_an_id_of_the_right_shape(kind: str, value: str, number: str) -> None:
    provider = Provider(kind, value)  # type: ignore[arg-type]
    first = derived_claim_id("302147", provider, number)
    assert is_claim_id(str(first))
    assert first == derived_claim_id("302147", provider, number)


def test_a_batch_number_with_letters_becomes_digits_that_no_plain_number_has() -> None:
    code = Provider("codigoPrestadorNaOperadora", "P1")
    digits = str(derived_claim_id("302147", code, "2026A")).rpartition("-")[2]
    assert digits.isdecimal()
    assert len(digits) > 12


@pytest.mark.parametrize("kind", ["CPF", "CNPJ", "codigoPrestadorNaOperadora"])
@pytest.mark.parametrize("number", ["52998224725", "529.982.247.25"])
def test_a_persons_number_does_not_show_whatever_it_is_called(kind: ProviderKind, number: str) -> None:
    derived = str(derived_claim_id("302147", Provider(kind, number), "52998224725"))
    assert number not in derived
    assert "52998224725" not in derived


@pytest.mark.parametrize(
    "text",
    [
        "CLM-001-52998224725",
        "CLM-52998224725-1",
        "CLM-529.982.247-25",
        "CLM-P529_982_247_25-7",
        "CLM-A-898001160651207",
        "CLM-898.0011.6065.1207-1",
    ],
)
def test_a_chosen_id_with_a_persons_number_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(Refusal, match="CPF or a CNS") as refused:
        given_claim_id(text)
    assert refused.value.field == "claimId"
    assert text not in str(refused.value)
    assert str(read_claim_id(text)) == text  # one that is there may be asked about


@pytest.mark.parametrize(
    "text", ["CLM-001-1234567890", "CLM-001-52998224726", "CLM-1-152998224725", "CLM-1-11111111111"]
)
def test_a_number_that_is_no_persons_may_be_chosen(text: str) -> None:
    assert str(given_claim_id(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1234",
        "CLM-1",
        "CLM-a-b",
        "CLM-\n-1",
        "CLM-é-1",
        "CLM-a b-1",
        "CLM-[/]-1",
        "CLM-" + "x" * 100 + "-1",
    ],
)
def test_an_id_of_another_shape_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Refusal, match="CLM-001-1234567890") as refused:
        given_claim_id(text)
    assert refused.value.field == "claimId"


def test_whoever_tries_all_cpfs_does_not_find_the_persons_without_the_key() -> None:
    ours, theirs = (derived_claim_ids(cipher_of(new_key("k1")), "302147", PERSON, "1") for _ in range(2))
    assert ours[0] != theirs[0]


def test_a_batch_is_still_known_by_the_ids_of_earlier_keys_and_versions() -> None:
    old = new_key("k1")
    before = derived_claim_ids(cipher_of(old), "302147", PERSON, "1")
    after = derived_claim_ids(cipher_of(f"{new_key('k2')},{old}"), "302147", PERSON, "1")
    assert after[0] not in before
    assert after[1:] == before


def test_a_provider_whose_code_may_be_a_name_is_a_number() -> None:
    named = Provider("codigoPrestadorNaOperadora", "MARIA.SILVA")
    assert "MARIA" not in str(derived_claim_id("302147", named, "1"))


def test_a_plain_batch_has_one_id_whatever_the_keys() -> None:
    code = Provider("codigoPrestadorNaOperadora", "PREST0001")
    assert len(derived_claim_ids(CIPHER, "302147", code, "000123")) == 1


def test_an_id_with_a_persons_number_is_told_as_a_keyed_number() -> None:
    told = outward_id(CIPHER, "CLM-001-52998224725")
    assert is_claim_id(told)
    assert "52998224725" not in told
    assert told == outward_id(CIPHER, "CLM-001-52998224725") != outward_id(CIPHER, "CLM-002-52998224725")
    assert outward_id(CIPHER, "CLM-001-1234567890") == "CLM-001-1234567890"
