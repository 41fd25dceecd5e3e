"""What a job of any type may carry so that its handler has nothing against it."""

from bpmn.names import Header, JobType
from domain.mail.mail import outbox_id

SAMPLE_MAIL = outbox_id("test", 1)
"""The id of `tests.support.mails.a_mail()`."""
VARIABLES: dict[str, object] = {
    "claimId": "CLM-D-1",
    "payerId": "999999",
    "retryCount": 0,
    "submissionError": "TIMEOUT",
    "reviewReason": "PERMANENT_ERROR",
    "recipientGroup": "REGISTRATION",
    "template": "permanent-error",
    "outboxId": SAMPLE_MAIL,
}
HEADERS: dict[str, dict[str, str]] = {
    JobType.CLOSE_CLAIM: {Header.OUTCOME: "CANCELLED"},
    JobType.NOTIFY: {Header.RECIPIENT_GROUP: "REGISTRATION", Header.TEMPLATE: "t"},
}
