"""Whom a claim reaches that no retry can mend: the team of the entry that decided."""

import pytest

from domain.catalog import Team, amend
from domain.decision import Exhausted, Permanent
from domain.outputs import error_variables, output_variables
from domain.policy import Policy
from tests.unit.domain.deciding import BIL_004, BIL_005, POLICY, given_up

TEAMS = {
    "INVALID_PATIENT_DATA": Team.REGISTRATION,
    "INSURANCE_EXPIRED": Team.REGISTRATION,
    "WAITING_PERIOD": Team.REGISTRATION,
    "PAYER_NOT_FOUND": Team.REGISTRATION,
    "AUTHORIZATION_DENIED": Team.BILLING_MANAGEMENT,
    "DUPLICATE_CLAIM": Team.BILLING_MANAGEMENT,
    "INVALID_PROCEDURE_CODE": Team.BILLING_MANAGEMENT,
    "NOT_COVERED": Team.BILLING_MANAGEMENT,
    "PROVIDER_CONFIGURATION": Team.BILLING_MANAGEMENT,
    "DEADLINE_PASSED": Team.BILLING_MANAGEMENT,
    "TOTALS_DIFFER": Team.BILLING_MANAGEMENT,
    "TOO_BIG": Team.BILLING_MANAGEMENT,
    "ACCESS_DENIED": Team.OPERATIONS,
    "MESSAGE_INVALID": Team.OPERATIONS,
    "CHANNEL_CONFIGURATION": Team.OPERATIONS,
}


def test_every_permanent_category_names_its_team_and_no_other_does() -> None:
    named = {category.name: category.team for category in POLICY.catalog.categories if category.team}
    assert named == TEAMS
    assert all(category.permanent == (category.name in TEAMS) for category in POLICY.catalog.categories)


@pytest.mark.parametrize(("category", "team"), TEAMS.items())
def test_a_permanent_error_reaches_the_team_of_its_entry(category: str, team: Team) -> None:
    entries = next(c for c in POLICY.catalog.categories if c.name == category)
    for text, code in [*((word, None) for word in entries.words), *(("x", code) for code in entries.codes)]:
        decision = given_up(text, submissionErrorCode=code)
        assert isinstance(decision, Permanent)
        assert decision.team is team


def test_bil_004_9_2_a_wrong_procedure_code_reaches_billing_management() -> None:
    assert given_up("INVALID_PROCEDURE_CODE").team is Team.BILLING_MANAGEMENT


def test_bil_005_9_3_wrong_patient_data_reach_registration() -> None:
    assert given_up("INVALID_PATIENT_DATA - CPF inválido", BIL_005).team is Team.REGISTRATION


@pytest.mark.parametrize("error", ["TIMEOUT", "INVALID_PATIENT_DATA", "LOGIN INVALIDO"])
def test_bil_004_2_3_spent_retries_reach_billing_management_whatever_the_error(error: str) -> None:
    decision = given_up(error, retryCount=5)
    assert isinstance(decision, Exhausted)
    assert decision.team is Team.BILLING_MANAGEMENT


def test_what_nobody_assigned_reaches_billing_management() -> None:
    assert given_up("TISS 9999").team is Team.BILLING_MANAGEMENT
    moved = amend(POLICY.catalog, permanent=["INVALID_PATIENT_DATA"]).categories[-1]
    assert moved.team is None


@pytest.mark.parametrize("policy", [BIL_004, BIL_005], ids=lambda policy: policy.profile.name)
def test_thrown_and_returned_variables_name_the_team(policy: Policy) -> None:
    decision = given_up("CERTIFICATE_EXPIRED", policy)
    assert error_variables(decision)["responsibleTeam"] == "OPERATIONS"
    assert output_variables(decision, policy.profile)["responsibleTeam"] == "OPERATIONS"
