"""Codes of mail servers: every row of both documents, and what they leave open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.codes import FailureKind, MailFailure, OwnCode, api_failure, classify, smtp_failure

RETRYABLE, PERMANENT, OURS = FailureKind.RETRYABLE, FailureKind.PERMANENT, FailureKind.OURS
LOGIN = (530, 534, 535, 538)


@pytest.mark.parametrize("code", ["421", "450", "451", "452", "Throttling", "ServiceUnavailable"])
def test_03_retryable_errors_are_retried(code: str) -> None:
    assert classify(code) is RETRYABLE


@pytest.mark.parametrize("code", ["500", "550", "554", "MessageRejected", "MailFromDomainNotVerified"])
def test_03_permanent_errors_are_not(code: str) -> None:
    assert classify(code) is PERMANENT


@pytest.mark.parametrize("code", ["421", "450", "451", "452"])
def test_02_temporary_errors_are_retried(code: str) -> None:
    assert classify(code) is RETRYABLE


@pytest.mark.parametrize("code", ["500", "501", "502", "503", "550", "551", "552", "553", "554"])
def test_02_permanent_errors_are_not(code: str) -> None:
    assert classify(code) is PERMANENT


@pytest.mark.parametrize(
    ("said", "kind"),
    [("4.2.1 mailbox busy", RETRYABLE), ("5.1.1 unknown", PERMANENT), ("mailbox unavailable", PERMANENT)],
)
def test_02_lists_550_twice_and_the_enhanced_status_settles_which(said: str, kind: FailureKind) -> None:
    assert smtp_failure(550, said).kind is kind


@pytest.mark.parametrize(("code", "enhanced"), [("421", "5.7.0"), ("554", "4.7.1"), ("452", "5.2.2")])
def test_a_listed_code_stands_whatever_its_enhanced_status_says(code: str, enhanced: str) -> None:
    assert classify(code, enhanced) is classify(code)


@given(st.integers(400, 499).filter(lambda n: n not in (421, 450, 451, 452)))
def test_an_unlisted_4yz_is_transient_as_smtp_says(code: int) -> None:
    assert smtp_failure(code, "").kind is RETRYABLE


@given(st.integers(504, 599).filter(lambda n: n not in (550, 551, 552, 553, 554, *LOGIN)))
def test_an_unlisted_5yz_is_permanent_as_smtp_says(code: int) -> None:
    assert smtp_failure(code, "").kind is PERMANENT


@pytest.mark.parametrize("code", LOGIN)
@pytest.mark.parametrize("said", ["", "5.7.8 authentication failed", "4.7.0 not now"])
def test_a_refused_login_is_ours_to_mend_and_no_mails_fault(code: int, said: str) -> None:
    assert smtp_failure(code, said).kind is OURS


@pytest.mark.parametrize(
    "name",
    [
        "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException",
        "SignatureDoesNotMatch", "InvalidSignatureException", "MissingAuthenticationToken",
        "AccessDenied", "AccessDeniedException", "NotAuthorized", "RequestExpired",
        "AccountSuspendedException", "SendingPausedException",
    ],
)  # fmt: skip
def test_refused_or_expired_credentials_and_a_stopped_account_are_ours_to_mend(name: str) -> None:
    failure = api_failure(name, "")
    assert (failure.kind, "failure" in failure.reason) == (OURS, False)


@pytest.mark.parametrize("name", ["BadRequestException", "InvalidParameterValue", "ValidationException"])
def test_what_ses_cannot_read_is_permanent(name: str) -> None:
    assert api_failure(name, "").kind is PERMANENT


@pytest.mark.parametrize("name", ["Throttling", "ServiceUnavailable", "TooManyRequests", "SomethingNew"])
def test_trouble_of_ses_and_what_nobody_lists_is_retried_with_or_without_aws_ending(name: str) -> None:
    assert api_failure(name, "").kind is api_failure(f"{name}Exception", "").kind is RETRYABLE


@pytest.mark.parametrize("name", ["MessageRejected", "MailFromDomainNotVerifiedException"])
def test_what_ses_refuses_for_good_is_not(name: str) -> None:
    assert api_failure(name, "").kind is PERMANENT


@pytest.mark.parametrize(
    ("code", "kind"),
    [(code, RETRYABLE) for code in ("CONNECTION_FAILED", "CONNECTION_LOST", "TIMEOUT", "TLS_FAILED")]
    + [(code, RETRYABLE) for code in ("ANSWER_LOST", "WORKER_LOST", "NOT_WRITTEN")]
    + [(code, PERMANENT) for code in ("EXPIRED", "NO_RECIPIENT", "NO_TEMPLATE")],
)
def test_trouble_on_the_way_is_retried_and_a_mail_for_nobody_is_not(code: str, kind: FailureKind) -> None:
    assert MailFailure(OwnCode(code)).kind is kind


@given(st.sampled_from(list(OwnCode)))
def test_every_code_of_our_own_has_a_meaning(code: OwnCode) -> None:
    assert "failure" not in MailFailure(code).reason


@given(st.integers(400, 599), st.text())
def test_the_reason_is_never_blank_and_holds_no_word_of_the_server(code: int, said: str) -> None:
    failure = smtp_failure(code, said)
    alone = MailFailure(failure.code, failure.enhanced).reason
    assert failure.reason == alone
    assert failure.reason.startswith(f"SMTP {code}")


def test_the_reason_names_code_enhanced_status_and_meaning() -> None:
    failure = smtp_failure(550, "5.1.1 <ana@hospital.example>: user unknown")
    assert failure.reason == "SMTP 550 5.1.1: mailbox unavailable"


@given(st.text())
def test_a_code_of_an_api_that_is_none_reaches_no_reason(code: str) -> None:
    assert api_failure(code, "").code.isascii()
    assert len(api_failure(code, "").code) <= 64
