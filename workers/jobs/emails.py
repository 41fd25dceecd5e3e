"""queue-email and send-email: a process asks for a mail; the mail's own lane sends it."""

import re
from datetime import timedelta
from typing import Annotated, assert_never

import structlog
from pydantic import AfterValidator, Field

from bpmn.names import ErrorCode, JobType, Variable
from domain.mail.attempts import AttemptUnderWay, MailDied, MailHeldBack, MailOver, MailWaits
from domain.mail.mail import Mail, MailContent, MailState, outbox_id
from domain.mail.remedies import remedy
from persistence.encryption.cipher import CipherError
from workers.jobs.company_ids import checked_company
from workers.jobs.engine_time import engine_time
from workers.jobs.held_job import held_job
from workers.jobs.services import Services
from workers.mail.queueing import MailQueue, MailRequest
from workers.mail.recipients import GROUPS
from workers.mail.sending import Attempted, MailHeld, TextAwaited, UnknownMail
from workers.mail.services import LOCK_MARGIN
from workers.runtime.handler import ClaimText, JobHandler, JobInput, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Incident, Outcome, Postpone, Throw
from workers.upkeep.clocks import ClocksDisagree

log = structlog.get_logger(__name__)
ASK_AGAIN = timedelta(seconds=1)
TEXT_PAUSE = timedelta(minutes=1)
CLOCKS_PAUSE = timedelta(minutes=5)
NO_MAIL = "mail is not set up in this worker (docs/mail.md). Set it up, restart it, then retry in Operate."
HELD = "A limit of mail leaves no room for it now (docs/mail-fairness.md)."
UNKNOWN = (
    "send-email: the mail of this outboxId is not in this worker's database. See that DATABASE_URL names the "
    "one in which it was queued, then retry in Operate."
)

SEALED = (
    "`reenvio keys list` shows which keys are needed. Give every worker that key, restart it, then retry in "
    "Operate. Without it the mail is a dead letter when its 24 hours are over."
)


def _is_group(text: str) -> str:
    if text not in GROUPS:
        raise ValueError(f"must be one of {', '.join(sorted(GROUPS))}")
    return text


def _is_template(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9\-]{0,63}", text, re.ASCII):
        raise ValueError("must be small letters, digits and hyphens, such as permanent-error")
    return text


class QueueInput(JobInput):
    """Whom to write to, which text, and what it is about."""

    recipient_group: Annotated[str, AfterValidator(_is_group)]
    template: Annotated[str, AfterValidator(_is_template)]
    claim_id: ClaimText | None = None
    company_id: Annotated[str, AfterValidator(checked_company)] | None = None


class SendInput(JobInput):
    """Which mail."""

    outbox_id: Annotated[str, Field(max_length=36)]


def queue_email(services: Services) -> JobHandler:
    """The handler: queues the mail that a process asks for, once per job."""

    async def handle(job: Job, given: QueueInput) -> Outcome:
        if services.mail is None:
            return Incident(f"{job.type}: {NO_MAIL}", is_undone=True)
        queue, now = services.mail.queue, await services.clock.now()
        request = _request(queue, job, given)
        mail = await services.store.run(lambda tx: queue.add(tx, request, now))
        await services.store.run(lambda tx: tx.mails.started([mail.outbox_id], now=now))
        queue.tell()  # its job comes with this one's completion: whoever sends need not find it by looking
        return Complete(_reference(mail))

    return JobHandler(
        type=JobType.QUEUE_EMAIL, variables=QueueInput.names(), handle=typed(QueueInput, handle)
    )


def _request(queue: MailQueue, job: Job, given: QueueInput) -> MailRequest:
    data = {"claimId": given.claim_id, "companyId": given.company_id or queue.company_id}
    known = {name: value for name, value in data.items() if value}
    content = MailContent(given.recipient_group, given.template, queue.language, known)
    identity = outbox_id(JobType.QUEUE_EMAIL, job.key, job.process_instance_key)
    return MailRequest(identity, content, given.company_id, given.claim_id or "")


def _reference(mail: Mail) -> dict[str, str]:
    return {
        Variable.OUTBOX_ID: mail.outbox_id,
        Variable.LANE: mail.lane,
        Variable.COMPANY_ID: mail.company_id,
    }


def send_email(services: Services) -> JobHandler:
    """The handler of all lanes: an attempt per delivery; the engine holds the waits between them."""

    async def handle(job: Job, given: SendInput) -> Outcome:
        if services.mail is None:
            return Incident(f"{job.type}: {NO_MAIL}", is_undone=True)
        now = await services.clock.now()
        agreed = services.clock_check.whether_past(engine_time(job, lock, now), now)
        try:
            attempted = await services.mail.sender.attempt(given.outbox_id, held_job(job), agreed)
        except CipherError as sealed:
            return Incident(f"{job.type}: {sealed} {SEALED}", is_undone=True)
        except TextAwaited as awaited:
            return Postpone(f"{job.type}: {awaited}", TEXT_PAUSE)
        except ClocksDisagree as apart:
            log.warning("mail_not_expired", why=str(apart))
            return Postpone(f"{job.type}: {apart}", CLOCKS_PAUSE)
        return await _outcome(attempted, services)

    time_limit = services.mail.time_limit if services.mail else timedelta(seconds=30)
    handler = JobHandler(
        type=JobType.SEND_EMAIL,
        # whose line it is, in the log and the trace; and whose turn it was, where companies share a lane
        variables=(*SendInput.names(), Variable.CLAIM_ID, Variable.COMPANY_ID),
        handle=typed(SendInput, handle),
        lock=time_limit + LOCK_MARGIN,
        time_limit=time_limit,
        at_once=services.mail.at_once if services.mail else 5,
        never_cut_short=True,
    )
    lock = services.limits.applied_to(handler).lock
    return handler


async def _outcome(attempted: Attempted, services: Services) -> Outcome:
    match attempted:
        case MailOver(mail) if mail.state is MailState.SENT:
            return Complete({Variable.EMAIL_STATUS: MailState.SENT})
        case MailOver(mail) | MailDied(mail):
            why = mail.last_failure_reason or ""
            return Throw(ErrorCode.EMAIL_DEAD_LETTERED, why, {Variable.EMAIL_STATUS: MailState.FAILED})
        case MailWaits(mail, wait):
            return Postpone(f"Attempt {mail.attempts}: {mail.last_failure_reason}", wait)
        case MailHeldBack(mail, wait):
            return Postpone(f"{mail.last_failure_reason}. {remedy(mail.last_failure_code)}.", wait)
        case MailHeld(wait):
            return Postpone(HELD, wait)
        case AttemptUnderWay(until):
            left = max(until - await services.clock.now(), timedelta())
            return Postpone("Another worker is sending this mail.", left + ASK_AGAIN)
        case UnknownMail():
            return Incident(UNKNOWN, is_undone=True)
        case _:
            assert_never(attempted)
