"""The settings of fairness: the document's names and defaults, and what does not fit together."""

import pytest

from domain.mail.fairness import FairnessTerms
from domain.mail.limits import MailLimits
from workers.config.settings import SettingsError, read_settings


def test_without_settings_the_documents_numbers_hold() -> None:
    fairness = read_settings().fairness
    assert fairness.terms() == FairnessTerms(True, 3, 5, 1, 1)
    assert fairness.overall() == fairness.per_company() == MailLimits(100, 5)
    assert fairness.own() == {}


def test_the_documents_names_are_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "ENABLE_ROUND_ROBIN": "false",
        "MAX_JOBS_PER_TENANT_BATCH": "7",
        "ROUND_ROBIN_BASE_PRIORITY": "9",
        "PRIORITY_INCREMENT_PER_ROUND": "2",
        "MAX_ROUND_ROBIN_PRIORITY": "3",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert read_settings().fairness.terms() == FairnessTerms(False, 7, 9, 2, 3)


def test_tiers_and_limits_of_one_company_are_read_from_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_TIER_WEIGHTS", '{"gold": 3}')
    monkeypatch.setenv("MAIL_TIERS", '{"acme": "gold"}')
    monkeypatch.setenv("MAIL_COMPANY_LIMITS", '{"noisy": {"per_minute": 10}}')
    fairness = read_settings().fairness
    assert fairness.terms().weights == {"acme": 3}
    assert fairness.own() == {"noisy": MailLimits(10, 5)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_JOBS_PER_TENANT_BATCH", "0"),
        ("MAX_ROUND_ROBIN_PRIORITY", "6"),
        ("MAIL_TIERS", '{"acme": "gold"}'),
        ("MAIL_TIER_WEIGHTS", '{"gold": 0}'),
        ("MAIL_BURST", "101"),
        ("MAIL_PER_MINUTE", "0"),
        ("MAIL_COMPANY_LIMITS", '{"noisy": {"speed": 10}}'),
        ("MAIL_COMPANY_LIMITS", '{"noisy": {"per_minute": 10000000000000000000000}}'),
        ("MAIL_TIER_WEIGHTS", '{"gold": 1e-320}'),
        ("MAIL_TIER_WEIGHTS", '{"gold": NaN}'),
        ("MAIL_TIMEOUT_SECONDS", "1e-320"),
        ("MAIL_TIMEOUT_SECONDS", "nan"),
    ],
)
def test_what_does_not_fit_is_told_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=f"{name}: "):
        read_settings()
