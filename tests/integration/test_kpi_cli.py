"""`reenvio kpi` and `reenvio report` as a person runs them."""

import json
from datetime import date, timedelta
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.kpis.periods import Period
from persistence.store import Store
from tests.support.kpi_history import BEGIN, DAYS, keep, stories
from tests.support.terminal import Terminal, terminal
from workers.policy import load_policy
from workers.upkeep.kpis import fill_in

__all__ = ["terminal"]
WEEK = ("--from", "2026-03-09", "--to", "2026-03-15")
on_sqlite = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)


@pytest.fixture
async def history(store: Store, database: AsyncEngine) -> Store:
    await keep(database, list(stories(2_000)))
    await fill_in(store, BEGIN + timedelta(days=DAYS))
    return store


@pytest.mark.usefixtures("history")
async def test_each_kpi_stands_beside_each_rules_target(terminal: Terminal) -> None:
    code, out, _ = await terminal.run("kpi", *WEEK)
    lines = [line for line in out.splitlines() if "RN-BIL-" in line]
    assert (code, len(lines)) == (0, 8)
    success = [line for line in lines if line.startswith("success_after_retry")]
    assert [">= 85 %" in line for line in success] == [True, False]
    assert [">= 80 %" in line for line in success] == [False, True]
    assert "recovered by people afterwards" in out
    assert "sent by other processes" in out


@on_sqlite
async def test_json_has_exact_values_and_what_they_are_of(terminal: Terminal, history: Store) -> None:
    code, out, _ = await terminal.run("kpi", *WEEK, "--json", "--payer", "payer-3")
    told = json.loads(out)
    [success] = [one for one in told["kpis"] if one["kpi"] == "success_after_retry"]
    async with history.reading() as tx:
        period = Period(date(2026, 3, 9), date(2026, 3, 15), load_policy().zone)
        counted = await tx.kpis.counted(period, "payer-3")
    assert (code, success["numerator"]) == (0, counted.tally.recovered)
    assert success["open"] == counted.tally.running_retried
    assert [one["rule"] for one in success["targets"]] == ["RN-BIL-004", "RN-BIL-005"]


@on_sqlite
@pytest.mark.usefixtures("history")
async def test_the_claims_behind_a_number_are_listed(terminal: Terminal) -> None:
    code, out, _ = await terminal.run("kpi", *WEEK, "--claims", "lost_claims", "--limit", "3")
    assert code == 0
    listed = [line.split() for line in out.splitlines() if line.startswith("CLM-")]
    assert [line[5].isdigit() for line in listed] == [True] * 3  # how many retries each had
    assert "there are more" in out


CLAIM_FIELDS = {
    *("claimId", "payerId", "firstFailedAt", "counts", "givenUp", "acceptedAt", "retriesSent"),
    *("sinceFailureMicroseconds", "sinceSendMicroseconds", "state"),
}


@on_sqlite
@pytest.mark.usefixtures("history")
async def test_the_claims_behind_a_number_come_as_json_too(terminal: Terminal) -> None:
    asked = ("kpi", *WEEK, "--claims", "permanent_errors", "--json")
    code, out, _ = await terminal.run(*asked, "--limit", "3")
    told = json.loads(out)
    assert (code, told["kpi"], told["hasMore"]) == (0, "permanent_errors", True)
    assert told["period"] == {"first": "2026-03-09", "last": "2026-03-15"}
    assert [set(one) for one in told["claims"]] == [CLAIM_FIELDS] * 3
    assert [one["givenUp"] for one in told["claims"] if one["counts"]] == ["PERMANENT"] * 3
    page = (Path(__file__).parents[2] / "docs" / "kpis.md").read_text(encoding="utf-8")
    assert {name for name in CLAIM_FIELDS if f"`{name}`" in page} == CLAIM_FIELDS
    _, out, _ = await terminal.run("kpi", "--from", "2025-01-01", "--to", "2025-01-02", *asked[5:])
    assert json.loads(out)["claims"] == []


@on_sqlite
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("kpi", "--from", "yesterday"), "is no day"),
        (("kpi", "--from", "2026-03-09", "--to", "2026-03-01"), "is after --to"),
        (("kpi", "--from", "2900-01-01", "--to", "2900-01-02"), "lies in the future"),
        (("kpi", "--to", "2900-01-02"), "--to 2900-01-02 lies in the future"),
        (("kpi", "--from", "2900-01-01"), "--from 2900-01-01 lies in the future"),
        (("kpi", "--claims", "nonsense"), "nonsense"),
        (("kpi", "--payer", "NOBODY"), "no claim of NOBODY is known here"),
        (("kpi", "--payer", "NOBODY", "--claims", "exhausted"), "compare the id with `reenvio payer list`"),
        (("report", "permanent", "--day", "2026-02-30"), "is no day"),
        (("report", "permanent", "--day", "2026-02-03", "--week", "2026-02-03"), "not both"),
        (("report", "sideways"), "sideways"),
    ],
)
async def test_what_makes_no_sense_is_said(terminal: Terminal, arguments: tuple[str, ...], why: str) -> None:
    code, _, err = await terminal.run(*arguments)
    assert code == 2
    assert why in " ".join(err.replace("│", " ").split())


@on_sqlite
@pytest.mark.usefixtures("history")
async def test_a_terminal_that_knows_no_bars_shows_them_as_escapes(terminal: Terminal) -> None:
    code, out, _ = await terminal.run("kpi", *WEEK, PYTHONIOENCODING="ascii")
    assert (code, "success_after_retry" in out, "\\u258" in out) == (0, True, True)


@on_sqlite
async def test_an_empty_period_is_said_to_be_empty(terminal: Terminal) -> None:
    code, out, _ = await terminal.run("kpi")
    assert (code, "nothing to measure" in out) == (0, True)
    code, out, _ = await terminal.run("report")
    assert code == 0
    assert out.count("Nada a relatar no período.") == 4


@on_sqlite
@pytest.mark.usefixtures("history")
async def test_a_report_tells_what_its_mail_does_and_who_has_no_address(terminal: Terminal) -> None:
    given = {"MAIL_SMTP_HOST": "127.0.0.1", "MAIL_LANGUAGE": "en"}
    code, out, err = await terminal.run("report", "permanent", "--day", "2026-03-10", **given)
    assert code == 0
    assert "By kind of error" in out
    assert "MAIL_TO_QUALITY is not set" in err
    code, out, _ = await terminal.run("report", "failures", "--week", "2026-03-11", "--json", **given)
    told = json.loads(out)
    assert (told["first"], told["last"]) == ("2026-03-09", "2026-03-15")
    assert told["number"] == sum(int(row[1]) for row in told["tables"][0]["rows"])
