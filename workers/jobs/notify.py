"""notify: records a notice to a group of people, and queues the mail that brings it to them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from bpmn.names import Header, JobType, Team
from domain.mail.mail import Mail, MailContent, outbox_id
from persistence.repositories.reviews import Notice
from persistence.store import Transaction
from workers.jobs.company_ids import company_or_none
from workers.jobs.services import Services
from workers.mail.queueing import MailRequest
from workers.mail.services import MailServices
from workers.policy.overrides import REMEDY
from workers.runtime.handler import ClaimText, JobHandler, JobInput, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Incident, Outcome

HEADER_MAX = 64


class Input(JobInput):
    """Which claim it is about, whom to tell where the process knows it, and whose notice it is.

    A `companyId` that does not fit is no reason to hold a claim up: then it is the configured company's.
    """

    claim_id: ClaimText
    recipient_group: Annotated[Team, Field(strict=False)] | None = None
    company_id: object = None


@dataclass(frozen=True, slots=True)
class ToldNotice:
    """A notice, the job that asks for it, and the company that its process names, if it does."""

    notice: Notice
    job_key: int
    company_id: str | None = None


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
        told = ToldNotice(
            Notice(given.claim_id, recipient, template), job.key, company_or_none(given.company_id)
        )
        mail = await services.store.run(lambda tx: _record(tx, told, services.mail, now))
        if mail and services.mail and mail.published_at is None:
            await services.mail.queue.start([mail], now)
        return Complete()

    return JobHandler(type=JobType.NOTIFY, variables=Input.names(), handle=typed(Input, handle))


async def _record(tx: Transaction, told: ToldNotice, mail: MailServices | None, now: datetime) -> Mail | None:
    """Notice, journal and mail in one commit; a job that is delivered again finds the same mail."""
    notice = told.notice
    if await tx.notices.record(notice, job_key=told.job_key, now=now):
        await tx.journal.write(notice.claim_id, "notified", notice.recipient, now=now)
    return await mail.queue.add(tx, _request(told, mail), now) if mail else None


def _request(told: ToldNotice, mail: MailServices) -> MailRequest:
    notice = told.notice
    about = {"claimId": notice.claim_id, "companyId": told.company_id or mail.queue.company_id}
    content = MailContent(notice.recipient, notice.template, mail.queue.language, about)
    identity = outbox_id(JobType.NOTIFY, told.job_key, notice.claim_id)
    return MailRequest(identity, content, told.company_id, notice.claim_id)
