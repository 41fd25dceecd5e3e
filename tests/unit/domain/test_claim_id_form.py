"""A claim of another process may have an id of another form, if its model or the policy says so."""

import json

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from domain.errors import InvalidInput
from domain.policy import Policy
from domain.redaction import redact
from tests.unit.domain.deciding import retried
from workers.cli.decide import decide_command
from workers.policy import load_policy, parse_policy
from workers.policy.file import default_text
from workers.policy.overrides import effective_policy

POLICY = load_policy()
BY_HEADER = effective_policy(POLICY, None, {"claimIdForm": "reference"})
BY_FILE = parse_policy(default_text().replace('claim_id_form = "clm"', 'claim_id_form = "reference"'))
REFERENCES = ["4711", "GUIDE-2025-0017", "a/b:c_d.e-1", "7f1b0d5e-6f0a-4b7e-9c7b-2f1d3a4b5c6d", "1" * 100]


@pytest.mark.parametrize("policy", [BY_HEADER, BY_FILE])
@pytest.mark.parametrize("reference", [*REFERENCES, "CLM-001-123"])
def test_a_reference_is_taken_where_the_model_or_the_policy_says_so(policy: Policy, reference: str) -> None:
    assert str(retried("TIMEOUT", policy, claimId=reference).claim_id) == reference


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_reference_is_refused_where_nobody_says_so(reference: str) -> None:
    with pytest.raises(InvalidInput, match="a claim id looks like CLM-<text>-<digits>"):
        retried("TIMEOUT", claimId=reference)


@pytest.mark.parametrize(
    "value",
    ["", "Maria da Silva 3", "MARIA", "maria@hospital.example", "529.982.247-25", "guide-52998224725", "-1",
     "GUIDE\n1", "GUIDE 1", "guíde-1", "1" * 101, "\u0661", 4711, None, ["4711"]],
)  # fmt: skip
def test_only_references_are_taken_never_names_or_numbers_of_persons(value: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        retried("TIMEOUT", BY_HEADER, claimId=value)
    assert refused.value.rule == "BIL-004 3.1"
    assert "a reference is at most 100 letters, digits and . _ : / -" in refused.value.problem
    assert "529" not in str(refused.value)


@given(st.text(max_size=120))
def test_whatever_is_taken_as_a_reference_has_neither_blanks_nor_accents_nor_at_signs(text: str) -> None:
    try:
        taken = str(retried("TIMEOUT", BY_HEADER, claimId=text).claim_id)
    except InvalidInput:
        return
    assert taken.isascii()
    assert not set(taken) & set(" @\n\t")
    assert any(letter.isdigit() for letter in taken)


def test_a_header_may_ask_for_the_hospitals_own_form_again() -> None:
    strict = effective_policy(BY_FILE, None, {"claimIdForm": "CLM"})
    with pytest.raises(InvalidInput, match="a claim id looks like CLM-<text>-<digits>"):
        retried("TIMEOUT", strict, claimId="4711")


def test_a_form_that_is_not_known_is_refused_by_its_header() -> None:
    with pytest.raises(InvalidInput, match=r"Task header claimIdForm.*choose clm or reference"):
        effective_policy(POLICY, None, {"claimIdForm": "any"})


def test_decide_takes_a_reference_by_header() -> None:
    command = typer.Typer()
    command.command()(decide_command)
    asked = ["--claim-id", "GUIDE-7", "--error", "TIMEOUT", "--json"]
    assert CliRunner().invoke(command, asked).exit_code == 2
    told = CliRunner().invoke(command, [*asked, "--header", "claimIdForm=reference"])
    assert json.loads(told.stdout)["shouldRetry"] is True


@pytest.mark.parametrize("policy", [POLICY, BY_FILE])
def test_the_example_of_an_id_is_itself_shown_whole(policy: Policy) -> None:
    with pytest.raises(InvalidInput) as refused:
        retried("TIMEOUT", policy, claimId="no digit")
    assert redact(str(refused.value)) == str(refused.value)
