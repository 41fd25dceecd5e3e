"""BIL-004-V2: what the rules call permanent no header makes transient, and a refused login no file either."""

import pytest

from domain.errors import InvalidInput
from tests.unit.domain.deciding import given_up, retried
from tests.unit.policy.test_left_rules import problems
from workers.policy import load_policy, parse_policy
from workers.policy.file import default_text
from workers.policy.overrides import effective_policy

POLICY = load_policy()
BY_RULE = ("INVALID_PATIENT_DATA", "INSURANCE_EXPIRED", "AUTHORIZATION_DENIED", "DUPLICATE_CLAIM",
           "INVALID_PROCEDURE_CODE")  # fmt: skip
FIXED = [
    (kind.name, entry)
    for kind in POLICY.catalog.categories
    if kind.name in (*BY_RULE, "ACCESS_DENIED")
    for entry in (*kind.words, *kind.codes)
]
LOGIN = [entry for name, entry in FIXED if name == "ACCESS_DENIED"]


@pytest.mark.parametrize(("name", "entry"), FIXED)
def test_bil_004_v2_a_header_makes_no_permanent_error_of_the_rules_transient(name: str, entry: str) -> None:
    for text in (entry, f"PORTAL_CLOSED, {entry}"):
        with pytest.raises(InvalidInput) as refused:
            effective_policy(POLICY, None, {"alsoTransient": text})
        assert refused.value.variable == "Task header alsoTransient"
        assert refused.value.rule == "BIL-004-V2"
        assert f"{entry} is {name}" in refused.value.problem
        assert "Correct the header in the model" in refused.value.remedy


@pytest.mark.parametrize("entry", ["invalid patient data", "Access-Denied", "account locked", "HTTP:401"])
def test_bil_004_v2_another_spelling_of_the_entry_is_refused_too(entry: str) -> None:
    with pytest.raises(InvalidInput, match="BIL-004-V2"):
        effective_policy(POLICY, None, {"alsoTransient": entry})


def test_bil_004_v2_a_word_that_a_permanent_one_is_found_in_changes_nothing() -> None:
    for entry in ("account is locked", "ACCESS", "401", "INVALID_PATIENT_DATA_AGAIN"):
        changed = effective_policy(POLICY, None, {"alsoTransient": entry})
        for text in ("account is locked", "ACCESS_DENIED", "401", "INVALID_PATIENT_DATA_AGAIN"):
            assert given_up(text, changed).finding.permanent


def test_a_header_may_still_make_other_entries_transient() -> None:
    changed = effective_policy(POLICY, None, {"alsoTransient": "TISS:5014, PORTAL_CLOSED, HTTP:404"})
    assert retried("x", changed, submissionErrorCode="TISS:5014").finding.category == "ALSO_TRANSIENT"


@pytest.mark.parametrize("entry", LOGIN)
def test_bil_004_v2_a_file_makes_no_refused_login_transient_for_a_payer(entry: str) -> None:
    told = problems(default_text() + f'[payers.302147]\nalso_transient = ["{entry}"]\n')
    assert told.startswith(f"payer 302147: also_transient has {entry}, which is ACCESS_DENIED")
    assert "never retried" in told
    assert "take it out" in told


@pytest.mark.parametrize("entry", ["TISS:1001", "DUPLICATE_CLAIM"])
def test_a_file_answered_for_by_one_may_move_other_permanent_entries(entry: str) -> None:
    policy = parse_policy(default_text() + f'[payers.302147]\nalso_transient = ["{entry}"]\n')
    moved = policy.for_payer("302147").catalog.categories[-1]
    assert entry in (*moved.words, *moved.codes)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [('class = "permanent"\nteam = "OPERATIONS"\nmeaning = "login', 'class = "transient"\nmeaning = "login',
      "HTTP:401 is transient in ACCESS_DENIED"),
     ('http = ["401", "403"]\n', "", None),
     ('http = ["401", "403"]', 'http = ["401"]', None)],
)  # fmt: skip
def test_bil_004_v2_a_file_cannot_call_401_transient(old: str, new: str, told: str | None) -> None:
    text = default_text().replace(old, new, 1)
    assert text != default_text()
    if told is None:
        parse_policy(text)
        text = text.replace('http = ["500"]', 'http = ["500", "403"]')
        told = "HTTP:403 is transient in SERVER_ERROR"
    assert told in problems(text)


def test_a_header_may_make_a_passing_error_permanent() -> None:
    changed = effective_policy(POLICY, None, {"alsoPermanent": "TIMEOUT"})
    assert given_up("TIMEOUT", changed).finding.category == "ALSO_PERMANENT"
