"""Who may do what in the console: roles after the rules' separation of functions, as one table.

The system decides and schedules by itself; people investigate, correct, decide reviews, watch and audit. Who
gives access to others acts on no claim, and who audits changes nothing.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from types import MappingProxyType

from domain.errors import Trouble

PASSWORD_MIN, PASSWORD_MAX = 12, 200
LOGIN_MAX = 64
_LOGIN_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")


class Role(StrEnum):
    """What somebody does in the house; a person may have several."""

    VIEWER = "viewer"
    REGISTRATION = "registration"
    BILLING = "billing"
    BILLING_MANAGEMENT = "billing_management"
    OPERATIONS = "operations"
    QUALITY = "quality"
    AUDITOR = "auditor"
    ADMIN = "admin"
    INTAKE = "intake"


class Permission(StrEnum):
    """One thing that may be allowed."""

    OWN_ACCOUNT = "own_account"
    SEE_WORK = "see_work"
    HAND_IN_CLAIMS = "hand_in_claims"
    EXPORT_WORK = "export_work"
    WAKE_CLAIMS = "wake_claims"
    CANCEL_CLAIMS = "cancel_claims"
    CORRECT_CLAIMS = "correct_claims"
    CHANGE_DEADLINES = "change_deadlines"
    HOLD_CLAIMS = "hold_claims"
    HANDLE_REVIEWS = "handle_reviews"
    DECIDE_REVIEWS = "decide_reviews"
    WRITE_OFF_CLAIMS = "write_off_claims"
    RESOLVE_INCIDENTS = "resolve_incidents"
    STEER_PAYERS = "steer_payers"
    STEER_MAIL = "steer_mail"
    READ_MAIL = "read_mail"
    READ_PAYERS_WORDS = "read_payers_words"
    SEE_REPORTS = "see_reports"
    SEE_AUDIT = "see_audit"
    MANAGE_PEOPLE = "manage_people"
    TRY_POLICY = "try_policy"
    ADOPT_POLICY = "adopt_policy"


_EVERYBODY = frozenset({Permission.OWN_ACCOUNT})
_WATCHES = _EVERYBODY | {Permission.SEE_WORK}
_BILLS = _WATCHES | {
    Permission.EXPORT_WORK,
    Permission.WAKE_CLAIMS,
    Permission.HANDLE_REVIEWS,
    Permission.DECIDE_REVIEWS,
    Permission.CORRECT_CLAIMS,
    Permission.CHANGE_DEADLINES,
    Permission.READ_PAYERS_WORDS,
}

MAY: Mapping[Role, frozenset[Permission]] = MappingProxyType(
    {
        Role.VIEWER: _WATCHES,
        Role.REGISTRATION: _WATCHES
        | {Permission.HANDLE_REVIEWS, Permission.CORRECT_CLAIMS, Permission.READ_PAYERS_WORDS},
        Role.BILLING: _BILLS,
        Role.BILLING_MANAGEMENT: _BILLS
        | {
            Permission.CANCEL_CLAIMS,
            Permission.HOLD_CLAIMS,
            Permission.WRITE_OFF_CLAIMS,
            Permission.SEE_REPORTS,
            Permission.TRY_POLICY,
            Permission.ADOPT_POLICY,
        },
        Role.OPERATIONS: _WATCHES
        | {
            Permission.EXPORT_WORK,
            Permission.WAKE_CLAIMS,
            Permission.HANDLE_REVIEWS,
            Permission.RESOLVE_INCIDENTS,
            Permission.STEER_PAYERS,
            Permission.STEER_MAIL,
            Permission.READ_MAIL,
            Permission.TRY_POLICY,
        },
        Role.QUALITY: _WATCHES | {Permission.EXPORT_WORK, Permission.SEE_REPORTS, Permission.TRY_POLICY},
        Role.AUDITOR: _EVERYBODY | {Permission.SEE_AUDIT},
        Role.ADMIN: _WATCHES | {Permission.MANAGE_PEOPLE},
        Role.INTAKE: _WATCHES | {Permission.HAND_IN_CLAIMS},
    }
)
"""What each role may; nothing else is allowed to anybody."""


def permissions_of(roles: Collection[Role]) -> frozenset[Permission]:
    """What somebody with these roles may."""
    return _EVERYBODY.union(*(MAY[role] for role in roles))


class AccessRefusal(Trouble):
    """A login, a password or a role that cannot be given."""

    exit_code = 2


def read_login(text: str) -> str:
    """A login in the one form it is kept and compared in; a refusal where it has none."""
    login = text.strip().lower()
    if not 2 <= len(login) <= LOGIN_MAX or not _LOGIN_SIGNS.issuperset(login):
        raise AccessRefusal(
            f"A login has 2 to {LOGIN_MAX} letters (a to z), digits, dots, dashes or underscores."
        )
    return login


def require_password(password: str, login: str) -> None:
    """Refuse a password that is too short, too long, or says who it is of."""
    if not PASSWORD_MIN <= len(password) <= PASSWORD_MAX:
        raise AccessRefusal(f"A password has {PASSWORD_MIN} to {PASSWORD_MAX} characters.")
    if login in password.lower() or len(set(password)) < PASSWORD_MIN // 2:
        raise AccessRefusal("A password holds no login, and more than a few different characters.")


def require_roles(roles: Collection[Role]) -> None:
    """Refuse somebody who would audit what they do, or may nothing."""
    if not roles:
        raise AccessRefusal(f"Give at least one role: {', '.join(Role)}.")
    if Role.AUDITOR in roles and len(set(roles)) > 1:
        raise AccessRefusal("Who audits has no other role: what they do would be audited by themselves.")
