"""What a mail server's answer means: the codes of both documents, and those that they do not list.

An SMTP code may come with an enhanced status (RFC 3463), which settles what a bare 550 leaves open.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

_SMTP = re.compile(r"[245][0-9]{2}", re.ASCII)
_ENHANCED = re.compile(r"\b([45])\.([0-9]{1,3})\.([0-9]{1,3})\b", re.ASCII)
_API = re.compile(r"[A-Za-z][A-Za-z_]{0,63}", re.ASCII)
"""Letters alone: SES has no others, and a person's number has none."""
UNKNOWN_CODE = "UNKNOWN"


class FailureKind(StrEnum):
    """Whether trying again can help."""

    RETRYABLE = "RETRYABLE"
    PERMANENT = "PERMANENT"
    OURS = "OURS"
    """The mail is not to blame, and neither is the server: what we log in with has to be mended."""


class OwnCode(StrEnum):
    """Failures that no server gave a code for."""

    CONNECTION_FAILED = "CONNECTION_FAILED"
    CONNECTION_LOST = "CONNECTION_LOST"
    TIMEOUT = "TIMEOUT"
    TLS_FAILED = "TLS_FAILED"
    ANSWER_LOST = "ANSWER_LOST"
    WORKER_LOST = "WORKER_LOST"
    EXPIRED = "EXPIRED"
    NO_RECIPIENT = "NO_RECIPIENT"
    NO_TEMPLATE = "NO_TEMPLATE"
    NOT_WRITTEN = "NOT_WRITTEN"
    ODD_ANSWER = "ODD_ANSWER"
    STOOD_STILL = "STOOD_STILL"
    OWN_FAULT = "OWN_FAULT"
    NO_CREDENTIALS = "NO_CREDENTIALS"
    PROCESS_ENDED = "PROCESS_ENDED"


RETRYABLE: Mapping[str, str] = MappingProxyType(
    {
        "421": "service not available",
        "450": "mailbox temporarily unavailable",
        "451": "local error in processing",
        "452": "insufficient system storage",
        "Throttling": "SES asks us to send more slowly",
        "ServiceUnavailable": "SES is not available",
        OwnCode.CONNECTION_FAILED: "no connection to the mail server",
        OwnCode.CONNECTION_LOST: "the mail server closed the connection",
        OwnCode.TIMEOUT: "the mail server did not answer in time",
        OwnCode.TLS_FAILED: "no safe connection to the mail server",
        OwnCode.ANSWER_LOST: "the mail left, but the server's answer was lost",
        OwnCode.WORKER_LOST: "the worker that was sending it ended before it knew the answer",
        OwnCode.NOT_WRITTEN: "the mail could not be written to its folder",
        OwnCode.ODD_ANSWER: "the mail server's answer is none of SMTP",
        OwnCode.STOOD_STILL: "its worker stood still, and its time to send it was over",
        OwnCode.OWN_FAULT: "an error of our own while it was sent: the log names it (mail_attempt_broke)",
    }
)
PERMANENT: Mapping[str, str] = MappingProxyType(
    {
        "500": "syntax error",
        "501": "syntax error in parameters",
        "502": "command not implemented",
        "503": "bad sequence of commands",
        "550": "mailbox unavailable",
        "551": "user not local",
        "552": "storage exceeded",
        "553": "mailbox name not allowed",
        "554": "transaction failed",
        "MessageRejected": "SES rejected the message",
        "MailFromDomainNotVerified": "the sender's domain is not verified at SES",
        OwnCode.EXPIRED: "not sent within its time",
        OwnCode.NO_RECIPIENT: "nobody is named as its recipient",
        OwnCode.NO_TEMPLATE: "there is no such text",
        OwnCode.PROCESS_ENDED: "its process was ended in the engine before it was sent",
    }
)
ALSO_RETRYABLE: Mapping[str, str] = MappingProxyType(
    {
        "TooManyRequests": "SES asks us to send more slowly",
        "RequestThrottled": "SES asks us to send more slowly",
        "InternalFailure": "SES had an error of its own",
        "InternalServiceError": "SES had an error of its own",
        "RequestTimeout": "SES did not answer in time",
        "LimitExceeded": "SES takes no more from us for now",
    }
)
"""Other spellings of SES for what the documents call Throttling and ServiceUnavailable."""
ALSO_PERMANENT: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("BadRequest", "InvalidParameterValue", "Validation"), "SES cannot read what we send")
)
"""Codes of SES that the documents do not list."""
_LOGIN = ("530", "534", "535", "538")
"""RFC 4954."""
_CREDENTIALS = (
    "AccessDenied", "AuthFailure", "ExpiredToken", "IncompleteSignature", "InvalidAccessKeyId",
    "InvalidClientTokenId", "InvalidIdentityToken", "InvalidSignature", "MissingAuthenticationToken",
    "NotAuthorized", "OptInRequired", "RequestExpired", "RequestTimeTooSkewed", "SignatureDoesNotMatch",
    "UnrecognizedClient",
)  # fmt: skip
_ACCOUNT = ("AccountSendingPaused", "AccountSuspended", "SendingPaused")
OURS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(_LOGIN, "the mail server refused our login, or asks for one"),
        **dict.fromkeys(_CREDENTIALS, "SES refused our credentials"),
        **dict.fromkeys(_ACCOUNT, "SES has stopped our account"),
        OwnCode.NO_CREDENTIALS: "no credentials for SES were found here",
    }
)
"""Refused logins and accounts, whatever enhanced status comes with them: every mail would fail of them."""


@dataclass(frozen=True, slots=True)
class MailFailure:
    """Why an attempt failed: a code of SMTP, of SES or of our own, and an enhanced status where one came.

    `said` are the server's own words, which may name people: they are kept encrypted or not at all.
    """

    code: str
    enhanced: str | None = None
    said: str = ""

    @property
    def kind(self) -> FailureKind:
        """Whether trying again can help."""
        return classify(self.code, self.enhanced)

    @property
    def reason(self) -> str:
        """The lastFailureReason, in our words alone."""
        scheme = "SMTP " if _SMTP.fullmatch(self.code) else ""
        status = f" {self.enhanced}" if self.enhanced else ""
        return f"{scheme}{self.code}{status}: {_meaning(self.code, self.kind)}"


def smtp_failure(code: int, said: str) -> MailFailure:
    """A failure from an SMTP reply: its code, and the enhanced status that its text begins with."""
    found = _ENHANCED.match(said.strip())
    return MailFailure(str(code), found.group() if found else None, said)


def api_failure(code: str, said: str) -> MailFailure:
    """A failure from an API's error code; AWS writes some with `Exception` at the end."""
    known = code.removesuffix("Exception")
    return MailFailure(known if _API.fullmatch(known) else UNKNOWN_CODE, None, said)


def classify(code: str, enhanced: str | None = None) -> FailureKind:
    """Listed codes as the documents list them, 550 by its enhanced status; others by their first digit.

    An API's code that nobody lists is tried again, as an unknown error of a payer is.
    """
    if code in OURS:
        return FailureKind.OURS
    if code == "550" or (_SMTP.fullmatch(code) and not _is_listed(code)):
        return _by_digit((enhanced or code)[0])
    is_permanent = code in PERMANENT or code in ALSO_PERMANENT
    return FailureKind.PERMANENT if is_permanent else FailureKind.RETRYABLE


def _is_listed(code: str) -> bool:
    return code in RETRYABLE or code in PERMANENT


def _by_digit(digit: str) -> FailureKind:
    return FailureKind.PERMANENT if digit == "5" else FailureKind.RETRYABLE


def _meaning(code: str, kind: FailureKind) -> str:
    tables = (RETRYABLE, PERMANENT, ALSO_RETRYABLE, ALSO_PERMANENT, OURS)
    known = next((table[code] for table in tables if code in table), None)
    return known or f"a {kind.lower()} failure"
