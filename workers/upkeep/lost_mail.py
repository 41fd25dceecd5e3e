"""Mail whose process got lost, never began or stands on an incident: started again, or dead after its day."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime

import structlog

from domain.errors import Trouble
from domain.mail.mail import Mail
from workers.mail.queueing import MailQueue
from workers.mail.sending import MailSender
from workers.upkeep.standing import Nudges

WasEnded = Callable[[int], Awaitable[bool]]
"""Whether a process instance was ended by somebody, in an engine that is still the same."""
log = structlog.get_logger(__name__)


async def start_lost(queue: MailQueue, now: datetime) -> int:
    """Ask the engine for processes that it never heard of, or does not have any more; for how many."""
    return await queue.start_left_behind(now) + await queue.start_forgotten(now)


async def end_cancelled(sender: MailSender, was_ended: WasEnded, now: datetime) -> int:
    """Bury mails whose process somebody ended in the engine; how many.

    It is known where a worker has had the mail in hand. One that no worker has had yet is started again.
    """
    found = [mail for mail in await sender.queue.forgotten(now) if await _is_ended(mail, was_ended)]
    return len([died for mail in found if (died := await sender.give_up(mail, now))])


async def _is_ended(mail: Mail, was_ended: WasEnded) -> bool:
    place = mail.last_job.place if mail.last_job else None
    try:
        return place is not None and await was_ended(place.instance)
    except Trouble:  # the engine does not say: then it does not take a start either, which is told
        return False


async def end_overdue(sender: MailSender, nudges: Nudges, now: datetime) -> int:
    """Bury mails that wait although their day is over, and let their processes end with that; how many."""
    died = await sender.let_expire(now)
    await _let_processes_end(died, nudges)
    return len(died)


async def _let_processes_end(died: Sequence[Mail], nudges: Nudges) -> None:
    """A process that stands on an incident hears that its mail is dead when its task begins anew."""
    for mail in died:
        if mail.last_job is None or mail.last_job.place is None:
            continue
        try:
            # incident or not: a dead mail sends nothing when its task begins anew
            await nudges.job(replace(mail.last_job, rests=True))
        except Trouble as refused:
            log.info("mail_process_not_ended", outbox_id=mail.outbox_id, why=str(refused))
