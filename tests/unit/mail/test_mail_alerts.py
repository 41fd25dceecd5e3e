"""The documents' alerts on mail, row by row: not at the number, but above it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from domain.mail.alerts import MailBalance, MailFigures, due_alerts

CALM = MailFigures(100, MailBalance(980, 20), {"company-1": 50, "company-2": 50}, timedelta(minutes=5))


def test_at_the_documents_numbers_no_alert_is_due() -> None:
    assert list(due_alerts(CALM)) == []


@pytest.mark.parametrize(
    ("row", "change", "told"),
    [
        ("03 DLQ Alto Volume, 02 DLQ", {"dead_letters": 101}, "More than 100: look for a cause"),
        ("03 Taxa de DLQ Alta", {"balance": MailBalance(979, 21)}, "2 % of what is sent fails (2.1 %)"),
        ("03 DLQ por Empresa", {"by_company": {"a": 51, "b": 50}}, "a has 51. Tell the company."),
        ("02 Tempo de processamento", {"waited": timedelta(minutes=5, seconds=1)}, "more than 5 minutes"),
    ],
)  # fmt: skip
def test_above_it_one_is(row: str, change: dict[str, object], told: str) -> None:
    [alert] = due_alerts(replace(CALM, **change))  # type: ignore[arg-type]
    assert told in alert, row


def test_where_nothing_ended_and_nothing_waits_none_is() -> None:
    assert list(due_alerts(MailFigures(0, MailBalance(), {}, None))) == []
