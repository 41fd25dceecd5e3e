"""A company's id as a process names it: whose lane, limits and figures a mail belongs to."""

import re

import structlog

from domain.check_digits import holds_personal
from workers.config.mail import COMPANY_ID

log = structlog.get_logger(__name__)


def checked_company(text: str) -> str:
    """The id; one that does not fit is a mistake that says what would."""
    if not re.fullmatch(COMPANY_ID, text, re.ASCII):
        raise ValueError("must be at most 64 letters, digits and . _ -, the first a letter or digit")
    if holds_personal(text):
        raise ValueError("must hold no person's number")
    return text


def company_or_none(given: object) -> str | None:
    """The id, or None: a claim does not wait because its process names a company in another way."""
    if given is None:
        return None
    try:
        return checked_company(given if isinstance(given, str) else "")
    except ValueError as wrong:
        log.warning("notice_company_unfit", why=f"companyId {wrong}")
        return None
