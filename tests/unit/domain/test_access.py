"""Who may do what: the rules' separation of functions as a table."""

import pytest

from domain.access import (
    MAY,
    AccessRefusal,
    Permission,
    Role,
    permissions_of,
    read_login,
    require_password,
    require_roles,
)

P = Permission
TABLE = {
    #                         viewer regis. billing manag. oper. quality audit admin intake
    P.OWN_ACCOUNT:            "x      x      x       x      x     x       x     x     x",
    P.SEE_WORK:               "x      x      x       x      x     x       -     x     x",
    P.HAND_IN_CLAIMS:         "-      -      -       -      -     -       -     -     x",
    P.EXPORT_WORK:            "-      -      x       x      x     x       -     -     -",
    P.WAKE_CLAIMS:            "-      -      x       x      x     -       -     -     -",
    P.CANCEL_CLAIMS:          "-      -      -       x      -     -       -     -     -",
    P.CORRECT_CLAIMS:         "-      x      x       x      -     -       -     -     -",
    P.CHANGE_DEADLINES:       "-      -      x       x      -     -       -     -     -",
    P.HOLD_CLAIMS:            "-      -      -       x      -     -       -     -     -",
    P.HANDLE_REVIEWS:         "-      x      x       x      x     -       -     -     -",
    P.DECIDE_REVIEWS:         "-      -      x       x      -     -       -     -     -",
    P.WRITE_OFF_CLAIMS:       "-      -      -       x      -     -       -     -     -",
    P.RESOLVE_INCIDENTS:      "-      -      -       -      x     -       -     -     -",
    P.STEER_PAYERS:           "-      -      -       -      x     -       -     -     -",
    P.STEER_MAIL:             "-      -      -       -      x     -       -     -     -",
    P.READ_MAIL:              "-      -      -       -      x     -       -     -     -",
    P.READ_PAYERS_WORDS:      "-      x      x       x      -     -       -     -     -",
    P.SEE_REPORTS:            "-      -      -       x      -     x       -     -     -",
    P.SEE_AUDIT:              "-      -      -       -      -     -       x     -     -",
    P.MANAGE_PEOPLE:          "-      -      -       -      -     -       -     x     -",
    P.TRY_POLICY:             "-      -      -       x      x     x       -     -     -",
    P.ADOPT_POLICY:           "-      -      -       x      -     -       -     -     -",
}  # fmt: skip
CASES = [
    (role, permission, sign == "x")
    for permission, row in TABLE.items()
    for role, sign in zip(Role, row.split(), strict=True)
]


@pytest.mark.parametrize(("role", "permission", "allowed"), CASES)
def test_each_role_may_what_the_table_says(role: Role, permission: Permission, allowed: bool) -> None:
    assert (permission in MAY[role]) is allowed


def test_the_table_names_every_role_and_permission() -> None:
    assert set(TABLE) == set(Permission)
    assert set(MAY) == set(Role)


def test_several_roles_may_what_any_of_them_may() -> None:
    both = permissions_of([Role.VIEWER, Role.OPERATIONS])
    assert both == MAY[Role.VIEWER] | MAY[Role.OPERATIONS]


def test_nobody_is_more_than_themselves_without_a_role() -> None:
    assert permissions_of([]) == {Permission.OWN_ACCOUNT}


def test_who_audits_has_no_other_role() -> None:
    require_roles([Role.AUDITOR])
    with pytest.raises(AccessRefusal, match="audits has no other role"):
        require_roles([Role.AUDITOR, Role.VIEWER])
    with pytest.raises(AccessRefusal, match="at least one role"):
        require_roles([])


@pytest.mark.parametrize("login", ["a", "ana souza", "ana@x", "a" * 65, "", "anä", "<b>"])
def test_a_login_that_is_none_is_refused(login: str) -> None:
    with pytest.raises(AccessRefusal, match="A login has"):
        read_login(login)


def test_a_login_is_kept_in_one_form() -> None:
    assert read_login(" Ana.Souza ") == "ana.souza"


@pytest.mark.parametrize("password", ["short", "a" * 201, "my name is ana ok", "aaaaaaaaaaaaaaaa"])
def test_a_password_that_is_easily_guessed_is_refused(password: str) -> None:
    with pytest.raises(AccessRefusal, match="A password"):
        require_password(password, "ana")


def test_a_long_password_is_taken() -> None:
    require_password("correct horse battery", "ana")
