"""What helps against a dead letter's code: whose matter it is, and which setting to look at."""

from collections.abc import Mapping
from types import MappingProxyType

from domain.mail.codes import ALSO_PERMANENT, OURS, OwnCode

_SERVER = "Ask whoever runs the mail server, or wait until it is well"
_WAY = "See that the mail server runs and that MAIL_SMTP_HOST and MAIL_SMTP_PORT lead to it from each worker"
_PACE = "Lower MAIL_PER_MINUTE to what SES allows"
_ADDRESS = "Correct the address in MAIL_TO_... or MAIL_COMPANIES_FILE, or have the mailbox put right"
_TALK = "The server does not take what we send: ask whoever runs it, with the server's words"
_WORKER = "See that a worker runs, and what its log says"
_LOGIN = (
    "Correct MAIL_SMTP_USERNAME and MAIL_SMTP_PASSWORD (or MAIL_SMTP_SECURITY, where the server asks for TLS "
    "first), then restart the workers"
)
_CREDENTIALS = (
    "Give every worker credentials that may send by SES in MAIL_SES_REGION (ses:SendEmail) and that have not "
    "expired, and see that its clock is right"
)
_ACCOUNT = "Have sending switched on again for the account at SES, in MAIL_SES_REGION"
BY_CODE: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("421", "450", "451", "452", OwnCode.CONNECTION_LOST, OwnCode.ANSWER_LOST), _SERVER),
        **dict.fromkeys((OwnCode.CONNECTION_FAILED, OwnCode.TIMEOUT), _WAY),
        **dict.fromkeys(("Throttling", "TooManyRequests", "RequestThrottled", "LimitExceeded"), _PACE),
        **dict.fromkeys(OURS, _CREDENTIALS),
        **dict.fromkeys(("AccountSendingPaused", "AccountSuspended", "SendingPaused"), _ACCOUNT),
        **dict.fromkeys(("530", "534", "535", "538"), _LOGIN),
        **dict.fromkeys(("550", "551", "552", "553"), _ADDRESS),
        **dict.fromkeys(("500", "501", "502", "503", "554", "MessageRejected", *ALSO_PERMANENT), _TALK),
        "MailFromDomainNotVerified": "Verify the domain of MAIL_FROM at SES, in MAIL_SES_REGION",
        OwnCode.TLS_FAILED: (
            "See that the server's certificate is valid for MAIL_SMTP_HOST, that MAIL_SMTP_CA_FILE has the "
            "authority that signed it, and that MAIL_SMTP_SECURITY is what the server speaks"
        ),
        **dict.fromkeys((OwnCode.WORKER_LOST, OwnCode.STOOD_STILL), _WORKER),
        OwnCode.ODD_ANSWER: f"What answers at MAIL_SMTP_HOST is no mail server, or is broken. {_SERVER}",
        OwnCode.OWN_FAULT: "Look for mail_attempt_broke in the workers' log, and report it",
        OwnCode.EXPIRED: f"It waited too long: too few workers, or a server that was away. {_WORKER}",
        OwnCode.NO_RECIPIENT: (
            "Name addresses in MAIL_TO_... for a group, in MAIL_COMPANIES_FILE for a company, then restart "
            "the workers"
        ),
        OwnCode.NO_TEMPLATE: (
            "Put the text into MAIL_TEMPLATES and restart the workers, or correct `template` in the "
            "process that asked for it"
        ),
        OwnCode.PROCESS_ENDED: (
            "Ask who cancelled its process in Operate, or why the process that called it goes on without it, "
            "and whether it is still wanted"
        ),
        OwnCode.NOT_WRITTEN: "See that each worker may write into MAIL_FOLDER, and that its disk has room",
    }
)


def remedy(code: str | None) -> str:
    """What helps, in one sentence; what no table knows is the server's own matter."""
    return BY_CODE.get(code or "", _TALK if code else _WORKER)
