"""What helps against each code: no table is left without a remedy, and settings that are named exist."""

import re

import pytest

from domain.mail.codes import ALSO_PERMANENT, ALSO_RETRYABLE, OURS, PERMANENT, RETRYABLE, smtp_failure
from domain.mail.remedies import BY_CODE, remedy
from workers.config.fairness import FairnessSettings
from workers.config.mail import MailSettings

SERVERS_OWN = {"ServiceUnavailable", "InternalFailure", "InternalServiceError", "RequestTimeout"}
"""Trouble of SES that nobody here can mend."""
SETTINGS = {
    str(field.validation_alias or f"{owner.model_config.get('env_prefix', '')}{name}").upper()
    for owner in (MailSettings, FairnessSettings)
    for name, field in owner.model_fields.items()
}


def test_every_code_that_we_know_has_its_remedy() -> None:
    known = {*RETRYABLE, *PERMANENT, *ALSO_RETRYABLE, *ALSO_PERMANENT, *OURS}
    assert known - set(BY_CODE) == SERVERS_OWN


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_a_setting_that_a_remedy_names_is_one(code: str) -> None:
    named = set(re.findall(r"MAIL_[A-Z_]+[A-Z]\b", remedy(code))) - {"MAIL_TO"}
    assert named <= SETTINGS


@pytest.mark.parametrize("code", [530, 534, 535, 538])
def test_a_refused_login_is_told_as_that(code: int) -> None:
    assert "refused our login" in smtp_failure(code, "").reason
    assert "MAIL_SMTP_PASSWORD" in remedy(str(code))


def test_what_nobody_knows_has_a_remedy_too() -> None:
    assert "whoever runs it" in remedy("599")
    assert "worker" in remedy(None)
