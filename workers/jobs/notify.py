"""notify: records a notice to a group of people, and queues the mail that brings it to them."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from bpmn.names import Header, JobType, Team
from domain.mail.mail import Mail, MailContent, outbox_id
from persistence.repositories.reviews import Notice
from persistence.store import Transaction
from workers.jobs.services import Services
from workers.mail.queueing import MailRequest
from workers.mail.services import MailServices
from workers.policy.overrides import REMEDY
from workers.runtime.handler import ClaimText, JobHandler, JobInput, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Incident, Outcome

HEADER_MAX = 64


class Input(JobInput):
    """Which claim it is about, and whom to tell where the process knows it."""

    claim_id: ClaimText
    recipient_group: Annotated[Team, Field(strict=False)] | None = None


def notify(services: Services) -> JobHandler:
    """The handler; the task's headers name template and recipient, unless a variable names the recipient."""

    async def handle(job: Job, given: Input) -> Outcome:
        recipient = given.recipient_group or job.headers.get(Header.RECIPIENT_GROUP)
        template = job.headers.get(Header.TEMPLATE)
        if not recipient or not template:
            return Incident(
                f"{job.element_id} lacks the task headers {Header.RECIPIENT_GROUP} and {Header.TEMPLATE}. "
                f"{REMEDY}"
            )
        if max(len(recipient), len(template)) > HEADER_MAX:
            names = f"the task headers {Header.RECIPIENT_GROUP} and {Header.TEMPLATE}"
            return Incident(f"{job.element_id}: {names} have at most {HEADER_MAX} characters. {REMEDY}")
        now = await services.clock.now()
        notice = Notice(given.claim_id, recipient, template)
        mail = await services.store.run(lambda tx: _record(tx, notice, job.key, services.mail, now))
        if mail and services.mail and mail.published_at is None:
            await services.mail.queue.start([mail], now)
        return Complete()

    return JobHandler(type=JobType.NOTIFY, variables=Input.names(), handle=typed(Input, handle))


async def _record(
    tx: Transaction, notice: Notice, job_key: int, mail: MailServices | None, now: datetime
) -> Mail | None:
    """Notice, journal and mail in one commit; a job that is delivered again finds the same mail."""
    if await tx.notices.record(notice, job_key=job_key, now=now):
        await tx.journal.write(notice.claim_id, "notified", notice.recipient, now=now)
    return await mail.queue.add(tx, _request(notice, job_key, mail), now) if mail else None


def _request(notice: Notice, job_key: int, mail: MailServices) -> MailRequest:
    about = {"claimId": notice.claim_id}
    content = MailContent(notice.recipient, notice.template, mail.queue.language, about)
    identity = outbox_id(JobType.NOTIFY, job_key, notice.claim_id)
    return MailRequest(identity, content, claim_id=notice.claim_id)
