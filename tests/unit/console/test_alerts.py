"""Alerts on Hoje: told where there is cause, the urgent ones first, each with where it is found."""

from datetime import timedelta

import pytest

from gateways.tiss.certificates import CertificateEnd, CertificateUse
from tests.support.builders import NOW
from tests.support.console_stage import ZONE
from workers.console.views.alerts import AlertRow, SeenAlerts, alert_rows
from workers.console.views.times import Times
from workers.console.words import LANGUAGES, words_of

NOTHING = SeenAlerts(0, 0, 0, {}, NOW, NOW)


def told(seen: SeenAlerts, language: str = "pt") -> list[tuple[str, str]]:
    rows: list[AlertRow] = [*alert_rows(seen, Times(NOW, ZONE, words_of(language)))]
    return [(row.state.text, row.link) for row in rows]


def ending(days: float) -> tuple[CertificateEnd, ...]:
    return (CertificateEnd(CertificateUse.OWN, NOW + timedelta(days=days)),)


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_told_where_all_is_well_or_was_never_begun(language: str) -> None:
    assert told(NOTHING, language) == []
    assert told(SeenAlerts(0, 0, 0, {"p": ending(31)}, None, None), language) == []


def test_certificates_that_end_soon_are_told_with_their_payer_the_sooner_first() -> None:
    seen = SeenAlerts(0, 0, 0, {"operadora/a": ending(20), "operadora-b": ending(3)}, NOW, NOW)
    assert told(seen) == [
        ("operadora-b: nosso certificado: vence em 3 dias", "/payers/operadora-b"),
        ("operadora/a: nosso certificado: vence em 20 dias", "/payers/operadora%2Fa"),
    ]


def test_what_nobody_does_any_more_is_told_as_the_monitors_alerts_tell_it() -> None:
    just = SeenAlerts(0, 0, 0, {}, NOW - timedelta(minutes=25), NOW - timedelta(hours=26))
    assert told(just) == []
    late = SeenAlerts(0, 0, 0, {}, NOW - timedelta(minutes=26), NOW - timedelta(hours=27))
    assert [text for text, _ in told(late)] == [
        "Ninguém procura cobranças esquecidas há 26 min: avise a TI",
        "Os indicadores não são contados há 27 h: avise a TI",
    ]


def test_numbers_lead_to_what_they_count() -> None:
    assert told(SeenAlerts(1, 2, 1, {}, NOW, NOW), "en") == [
        ("1 claim is overdue or due within 8 hours", "/claims?risk=1&order=deadline"),
        ("2 notices by e-mail did not arrive", "/letters"),
        ("1 write-off waits for a second person", "/reviews/bulk"),
    ]
