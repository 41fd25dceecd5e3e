"""The console's page for who runs it: its table of roles says what the code allows, and nothing else."""

from pathlib import Path

from domain.access import MAY, Permission, Role

PAGE = Path(__file__).parents[2] / "docs" / "console.md"
COLUMNS: dict[str, frozenset[Permission]] = {
    "sees work": frozenset({Permission.SEE_WORK}),
    "hands claims in": frozenset({Permission.HAND_IN_CLAIMS}),
    "exports": frozenset({Permission.EXPORT_WORK}),
    "resends now": frozenset({Permission.WAKE_CLAIMS}),
    "cancels": frozenset({Permission.CANCEL_CLAIMS}),
    "changes deadlines": frozenset({Permission.CHANGE_DEADLINES}),
    "legal holds": frozenset({Permission.HOLD_CLAIMS}),
    "takes and notes reviews": frozenset({Permission.HANDLE_REVIEWS}),
    "corrects": frozenset({Permission.CORRECT_CLAIMS}),
    "decides reviews": frozenset({Permission.DECIDE_REVIEWS}),
    "writes off": frozenset({Permission.WRITE_OFF_CLAIMS}),
    "incidents, payers, notices": frozenset(
        {Permission.RESOLVE_INCIDENTS, Permission.STEER_PAYERS, Permission.STEER_MAIL}
    ),
    "notices' content": frozenset({Permission.READ_MAIL}),
    "payers' words": frozenset({Permission.READ_PAYERS_WORDS}),
    "tries policies": frozenset({Permission.TRY_POLICY}),
    "adopts policies": frozenset({Permission.ADOPT_POLICY}),
    "reports": frozenset({Permission.SEE_REPORTS}),
    "audit": frozenset({Permission.SEE_AUDIT}),
    "people": frozenset({Permission.MANAGE_PEOPLE}),
}


def table() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("| role |"))
    rows = [line for line in lines[begin:] if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_table_of_roles_is_what_the_code_allows() -> None:
    head, _, *rows = table()
    assert head == ["role", *COLUMNS]
    told = {
        Role(name.strip("`")): {column for column, mark in zip(COLUMNS, marks, strict=True) if mark}
        for name, *marks in rows
    }
    assert told == {role: {name for name, given in COLUMNS.items() if given <= MAY[role]} for role in Role}


def test_every_permission_but_ones_own_account_has_its_column() -> None:
    assert frozenset().union(*COLUMNS.values()) == set(Permission) - {Permission.OWN_ACCOUNT}
    parted = [
        (role, name)
        for role in Role
        for name, given in COLUMNS.items()
        if 0 < len(given & MAY[role]) < len(given)
    ]
    assert parted == []
