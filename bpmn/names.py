"""Every name the models and the workers share, written once."""

from enum import StrEnum
from importlib import resources
from pathlib import Path

from domain.catalog import Team as Team
from domain.reviews import ReviewDecision as ReviewDecision
from domain.reviews import ReviewReason as ReviewReason


class ProcessId(StrEnum):
    """The processes we deploy; each lives in the file of the same name."""

    SUB_06 = "SUB_06"
    SUB_06_ANALYZE = "SUB_06_ANALYZE"
    MAINTENANCE_IDEMPOTENCY = "MAINTENANCE_IDEMPOTENCY"
    MAINTENANCE_RETENTION = "MAINTENANCE_RETENTION"
    MAINTENANCE_PAYERS = "MAINTENANCE_PAYERS"
    MAINTENANCE_MAIL = "MAINTENANCE_MAIL"
    MAINTENANCE_DEAD_LETTERS = "MAINTENANCE_DEAD_LETTERS"
    MAINTENANCE_REDRIVE = "MAINTENANCE_REDRIVE"
    MAINTENANCE_STANDING = "MAINTENANCE_STANDING"
    MAINTENANCE_KPI = "MAINTENANCE_KPI"
    NOTIFY = "NOTIFY"


class JobType(StrEnum):
    """What a task or a throwing message event asks a worker to do.

    SEND_EMAIL is asked for by lanes: `send-email-0` and so on.
    """

    SUBMIT_CLAIM = "submit-claim"
    RETRY_SUBMISSION_BACKOFF = "retry-submission-backoff"
    ANALYZE_RETRY = "analyze-retry"
    OPEN_REVIEW = "open-review"
    NOTIFY = "notify"
    CLOSE_CLAIM = "close-claim"
    CLEAN_IDEMPOTENCY = "clean-idempotency"
    ANCHOR_AUDIT = "anchor-audit"
    APPLY_RETENTION = "apply-retention"
    PROBE_PAYERS = "probe-payers"
    START_CLAIMS = "start-claims"
    QUEUE_EMAIL = "queue-email"
    SEND_EMAIL = "send-email"
    START_EMAILS = "start-emails"
    EXPIRE_DEAD_LETTERS = "expire-dead-letters"
    REDRIVE_DEAD_LETTERS = "redrive-dead-letters"
    HEAL_STANDING = "heal-standing"
    SNAPSHOT_KPIS = "snapshot-kpis"
    SEND_REPORTS = "send-reports"


class Message(StrEnum):
    """What the outside may say to a claim, all but the first by its claimId; the last starts a mail."""

    CLAIM_READY = "claim-ready"
    RETRY_NOW = "retry-now"
    CLAIM_CANCELLED = "claim-cancelled"
    REVIEW_DECIDED = "review-decided"
    EMAIL_QUEUED = "email-queued"


class ErrorCode(StrEnum):
    """What a worker may throw and a model must catch."""

    SUBMISSION_FAILED = "SUBMISSION_FAILED"
    PAYER_UNAVAILABLE = "PAYER_UNAVAILABLE"
    MAX_RETRIES_EXCEEDED = "MAX_RETRIES_EXCEEDED"
    PERMANENT_ERROR = "PERMANENT_ERROR"
    EMAIL_DEAD_LETTERED = "EMAIL_DEAD_LETTERED"


class Header(StrEnum):
    """Static parameters that an element of our models gives to its worker."""

    RECIPIENT_GROUP = "recipientGroup"
    TEMPLATE = "template"
    OUTCOME = "outcome"


class PolicyHeader(StrEnum):
    """Task headers by which a model narrows the retry policy for one task."""

    RETRY_PROFILE = "retryProfile"
    MAX_RETRIES = "maxRetries"
    BASE_MINUTES = "baseMinutes"
    MIN_MINUTES = "minMinutes"
    MAX_MINUTES = "maxMinutes"
    BACKOFF_FACTOR = "backoffFactor"
    JITTER_PERCENT = "jitterPercent"
    RESERVE_MINUTES = "reserveMinutes"
    ALSO_PERMANENT = "alsoPermanent"
    ALSO_TRANSIENT = "alsoTransient"
    TIME_ZONE = "timeZone"
    CLAIM_ID_FORM = "claimIdForm"
    ON_EMPTY_ERROR = "onEmptyError"
    ON_GIVE_UP = "onGiveUp"


class Template(StrEnum):
    """The text of a notification."""

    MAX_RETRIES_EXCEEDED = "max-retries-exceeded"
    PERMANENT_ERROR = "permanent-error"
    PROTOCOL_MISSING = "protocol-missing"


class ClaimOutcome(StrEnum):
    """How a person ended a claim, as the header `outcome` says it."""

    ACCEPTED = "ACCEPTED"
    CANCELLED = "CANCELLED"
    WRITTEN_OFF = "WRITTEN_OFF"


class Variable(StrEnum):
    """The variables of our processes: references and retry state, never the claim itself."""

    CLAIM_ID = "claimId"
    PAYER_ID = "payerId"
    DEADLINE = "deadline"
    PROTOCOL_NUMBER = "protocolNumber"

    SUBMISSION_ERROR = "submissionError"
    SUBMISSION_ERROR_CODE = "submissionErrorCode"
    LAST_SUBMISSION_TIME = "lastSubmissionTime"
    RESUME_AT = "resumeAt"
    PAYER_UNAVAILABLE_REASON = "payerUnavailableReason"

    SHOULD_RETRY = "shouldRetry"
    NEXT_RETRY_TIME = "nextRetryTime"
    RETRY_COUNT = "retryCount"
    RETRY_REASON = "retryReason"
    BACKOFF_MINUTES = "backoffMinutes"
    ERROR_CLASSIFICATION = "errorClassification"
    ERROR_CATEGORY = "errorCategory"
    MAX_RETRIES = "maxRetries"
    ORIGINAL_ERROR = "originalError"
    POLICY_VERSION = "policyVersion"
    RESPONSIBLE_TEAM = "responsibleTeam"
    CAUSE = "cause"
    RECIPIENT_GROUP = "recipientGroup"

    REVIEW_ID = "reviewId"
    REVIEW_REASON = "reviewReason"
    REVIEW_ROUND = "reviewRound"
    REVIEW_DECISION = "reviewDecision"
    DECIDED_ROUND = "decidedRound"

    CANCELLED_WAIT = "cancelledWait"
    CANCELLATION_STANDS = "cancellationStands"
    ORDER_ID = "orderId"  # of a message: which order of a person it carries out
    CLOSING_ORDER_ID = "closingOrderId"  # the order that the claim's end is put down to

    OUTBOX_ID = "outboxId"
    LANE = "lane"
    COMPANY_ID = "companyId"
    TEMPLATE = "template"
    EMAIL_STATUS = "emailStatus"

    REDRIVE_CODE = "redriveCode"
    REDRIVE_WAVE = "redriveWave"
    REDRIVE_SIZE = "redriveSize"
    REDRIVE_SINCE = "redriveSince"
    REDRIVE_GOES_ON = "redriveGoesOn"

    PROCESSED_COUNT = "processedCount"
    RESOLVED_JOB = "resolvedJobKey"  # local to a task that was begun again: the job it goes on from

    TRACEPARENT = "traceparent"  # where traces are on: the W3C trace context of the claim


CANCELLED_END = "End_ClaimCancelled"
"""Where SUB_06 ends a claim that a person cancels."""


def model_path(process: ProcessId) -> Path:
    """The packaged BPMN file of one process."""
    return Path(str(resources.files("bpmn"))) / f"{process}.bpmn"


def model_paths() -> tuple[Path, ...]:
    """All packaged BPMN files, in the order they are deployed."""
    return tuple(model_path(process) for process in ProcessId)
