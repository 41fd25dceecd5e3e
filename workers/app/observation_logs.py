"""What was decided, sent, refused and mailed, as lines of the log: the documents' names, fields and words.

`event` names a line for machines; `message` is the sentence that a document gives it, where one does. Fields
of the documents are spelt as there, in camelCase; the others are ours. docs/logs.md lists every line.
"""

from datetime import timedelta
from typing import assert_never

import structlog

from domain.decision import INVALID_ERROR_MESSAGE, Cause, Decision, Exhausted, Permanent, Retry
from domain.observations import (
    ClaimSent,
    DecisionMade,
    IncidentElsewhere,
    InputRejected,
    LetterMovedIn,
    MailAttempted,
    MailFate,
    Observation,
    OperationRepeated,
    PayerMoved,
    StandstillHealed,
)
from domain.outputs import iso_time
from domain.policy import Shape
from domain.submission import Accepted, ProtocolMissing

UNKNOWN_ERROR = "Tipo de erro desconhecido, tentando retry"
EMPTY_ERROR = "Mensagem de erro vazia ou inválida"
EXCEEDED = "Máximo de tentativas excedido"
TOO_LATE = "Prazo da cobrança não permite nova tentativa"
PERMANENT = "Erro permanente, sem nova tentativa"
MAIL_WAITS = "Job failed, scheduling retry"
MAIL_DIED = "Job failed, moved to dead letters"
log = structlog.get_logger(__name__)


def log_observation(observation: Observation) -> None:
    """Write the lines of one observation: ids, codes and words of ours only."""
    match observation:
        case DecisionMade(decision):
            _decision(observation, decision)
        case InputRejected(profile, rule, claim_id):
            log.warning("input_rejected", profile=profile, rule=rule, claim=claim_id)
        case ClaimSent():
            _sent(observation)
        case PayerMoved(before, after):
            told = {"state": after.state, "before": before.state, "reason": after.reason}
            log.warning("payer_state_changed", payer=after.payer_id, **told)
        case OperationRepeated(operation):
            log.debug("operation_repeated", operation=operation)
        case MailAttempted():
            _mail(observation)
        case LetterMovedIn() | StandstillHealed() | IncidentElsewhere():
            pass  # who did it logs it
        case _:
            assert_never(observation)


def _decision(made: DecisionMade, decision: Decision) -> None:
    match decision:
        case Retry():
            _retry(made, decision)
        case Exhausted(cause=Cause.RETRIES):
            log.error("max_retries_exceeded", message=EXCEEDED, **_given_up(made, decision))
        case Exhausted():
            log.error("deadline_exceeded", message=TOO_LATE, **_given_up(made, decision))
        case Permanent():
            log.warning("permanent_error", message=PERMANENT, **_given_up(made, decision))
        case _:
            assert_never(decision)


def _retry(made: DecisionMade, decision: Retry) -> None:
    if decision.warning == INVALID_ERROR_MESSAGE:
        log.warning("error_message_empty", message=EMPTY_ERROR, **_error(decision))
    elif decision.warning:
        log.warning("unknown_error_retried", message=UNKNOWN_ERROR, **_error(decision))
    listed = _error(decision) | {
        "retryCount": decision.retry_count,
        "backoffMinutes": decision.backoff_minutes,
        "nextRetryTime": iso_time(decision.next_retry_time),
    }
    if made.shape is Shape.ANALYSIS:
        log.info("retry_scheduled", maxRetries=decision.max_retries, executionTimeMs=_millis(made), **listed)
    else:
        log.info("submission_retry_scheduled", **listed)


def _given_up(made: DecisionMade, decision: Exhausted | Permanent) -> dict[str, object]:
    return _error(decision) | {
        "errorCategory": decision.finding.category,
        "retryCount": decision.retry_count,
        "maxRetries": decision.max_retries,
        "responsibleTeam": decision.team.value,
        "executionTimeMs": _millis(made),
        "profile": made.profile,
    }


def _error(decision: Decision) -> dict[str, object]:
    """Of the error no more than the catalog's own words."""
    return {
        "claimId": decision.claim_id.value,
        "submissionError": decision.last_error,
        "errorClassification": decision.classification.value,
    }


def _millis(made: DecisionMade) -> int:
    return round(made.seconds * 1000)


def _sent(sent: ClaimSent) -> None:
    settled = sent.settled
    code = None if isinstance(settled, Accepted | ProtocolMissing) else settled.code
    result, seconds = settled.stored_as, round(sent.seconds, 3)
    told = {"result": result, "code": code, "seconds": seconds}
    log.info("claim_sent", claim=sent.claim_id, payer=sent.payer_id, attempt=sent.attempt, **told)


def _mail(mail: MailAttempted) -> None:
    match mail.fate:
        case MailFate.SENT:
            log.info("mail_sent", **_whose(mail), lane=mail.lane, attempt=mail.attempt)
        case MailFate.WAITS:
            delay = (mail.wait or timedelta()) // timedelta(milliseconds=1)
            again = {"nextRetryDelay": delay, "isRetryable": True}
            log.warning("mail_retry_scheduled", message=MAIL_WAITS, **_failed(mail), **again)
        case MailFate.DIED:
            over = {"isRetryable": False, "cause": mail.cause}
            log.warning("mail_dead_lettered", message=MAIL_DIED, **_failed(mail), **over)
            if not mail.is_buried:
                log.error("dead_letters_full", **_whose(mail), advice="see `reenvio dlq stats`")
        case _:
            assert_never(mail.fate)


def _failed(mail: MailAttempted) -> dict[str, object]:
    return _whose(mail) | {
        "attempt": mail.attempt,
        "maxAttempts": mail.max_attempts,
        "errorCode": mail.code,
        "errorReason": mail.reason,
    }


def _whose(mail: MailAttempted) -> dict[str, object]:
    """The mail's ids; its claim too, for a mail may also end outside a job of its own."""
    claim: dict[str, object] = {"claim": mail.claim_id} if mail.claim_id else {}
    return claim | {"jobId": mail.outbox_id, "companyId": mail.company_id}
