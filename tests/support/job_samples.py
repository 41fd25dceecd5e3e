"""What a job of any type may carry so that its handler has nothing against it."""

from bpmn.names import Header, JobType

VARIABLES: dict[str, object] = {
    "claimId": "CLM-D-1",
    "payerId": "999999",
    "retryCount": 0,
    "submissionError": "TIMEOUT",
    "reviewReason": "PERMANENT_ERROR",
}
HEADERS: dict[str, dict[str, str]] = {
    JobType.CLOSE_CLAIM: {Header.OUTCOME: "CANCELLED"},
    JobType.NOTIFY: {Header.RECIPIENT_GROUP: "REGISTRATION", Header.TEMPLATE: "t"},
}
