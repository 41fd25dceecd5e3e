"""The demo's mail: a real SMTP server of its own, and how many notices arrived there."""

import asyncio
from collections.abc import Mapping

from domain.mail.mail import MailState
from gateways.practice.mail_server import HOST, Mailbox
from persistence.store import Store

LOOKS, LOOK_SECONDS = 200, 0.1
PEOPLE = ("REGISTRATION", "BILLING_MANAGEMENT", "OPERATIONS", "ADMINISTRATOR")


def mail_environment(port: int) -> dict[str, str]:
    """What leads a worker's mail to the demo's server."""
    to = {f"MAIL_TO_{group}": f"{group.lower().replace('_', '-')}@hospital.example" for group in PEOPLE}
    return to | {
        "MAIL_SMTP_HOST": HOST,
        "MAIL_SMTP_PORT": str(port),
        "MAIL_SMTP_SECURITY": "none",
        "MAIL_FROM": "reenvio@hospital.example",
        "MAIL_PER_MINUTE": "10000",
        "MAIL_COMPANY_PER_MINUTE": "10000",
    }


async def until_mail_is_out(store: Store) -> None:
    """Wait for mail that is on its way, but not for ever."""
    for _ in range(LOOKS):
        if MailState.PENDING not in await store.look(lambda tx: tx.mails.by_state()):
            return
        await asyncio.sleep(LOOK_SECONDS)


def mail_line(queued: Mapping[MailState, int], mailbox: Mailbox) -> str:
    """What the mail server saw, beside what was asked for."""
    different = len({mail.message_id for mail in mailbox.arrived})
    twice = len(mailbox.arrived) - different or "none"
    return f"The mail server: {different} of {sum(queued.values())} notices arrived, {twice} twice."


def not_arrived(queued: Mapping[MailState, int], mailbox: Mailbox) -> int:
    """How many notices were asked for and did not arrive."""
    return sum(queued.values()) - len({mail.message_id for mail in mailbox.arrived})
