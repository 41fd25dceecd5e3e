"""Mails and dead letters for tests, each about nobody in particular."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.mail.dead_letters import AT_MOST, DeadLetter
from domain.mail.mail import MAIL_LIFE, Mail, MailContent, MailState, outbox_id
from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import cipher_of
from persistence.repositories.mails import seal_mail
from persistence.store import Store
from persistence.tables import dead_letters
from tests.support.builders import NOW
from tests.support.databases import KEYS

CIPHER = cipher_of(KEYS)
CONTENT = MailContent("BILLING_MANAGEMENT", "max-retries-exceeded", "pt", {"claimId": "CLM-001-1"})


def a_mail(number: int = 1, **changes: Any) -> Mail:
    """A queued mail; its number tells it from others."""
    identity = outbox_id("test", number)
    at = changes.pop("enqueued_at", NOW)
    content = changes.pop("content", CONTENT)
    values: dict[str, Any] = {
        "outbox_id": identity,
        "company_id": "company-1",
        "lane": "0",
        "template": content.template,
        "sealed": seal_mail(CIPHER, identity, content),
        "enqueued_at": at,
        "expires_at": at + MAIL_LIFE,
    }
    return Mail(**(values | changes))


def a_dead_letter(number: int = 1, **changes: Any) -> DeadLetter:
    """What is left of such a mail after five attempts."""
    mail = a_mail(number)
    values: dict[str, Any] = {
        "outbox_id": mail.outbox_id,
        "company_id": mail.company_id,
        "original_data": mail.sealed,
        "failed_attempts": 5,
        "last_failure_reason": "SMTP 421: service not available",
        "last_failure_code": "421",
        "last_failure_at": NOW,
        "enqueued_at": NOW - timedelta(seconds=30),
        "moved_at": NOW,
    }
    return DeadLetter(**(values | changes))


async def fill_dead_letters(database: AsyncEngine) -> None:
    """As many dead letters as there may be."""
    rows = [
        {
            "outbox_id": str(number), "company_id": "c", "original_data": "x", "failed_attempts": 1,
            "last_failure_reason": "why", "last_failure_at": NOW, "enqueued_at": NOW, "moved_at": NOW,
            "ttl_ms": 1, "expires_at": NOW,
        }
        for number in range(AT_MOST)
    ]  # fmt: skip
    async with database.begin() as connection:
        await connection.execute(insert(dead_letters), rows)


async def keep_dead(
    store: Store, numbers: Iterable[int], *, cipher: Cipher = CIPHER, at: datetime = NOW, **changes: Any
) -> list[str]:
    """Mails that have died one after the other, each with its dead letter and an address of its own."""
    async with store.transaction() as tx:
        made = [_dead(number, cipher, at + timedelta(milliseconds=number), changes) for number in numbers]
        for mail, letter in made:
            await tx.mails.add(mail)
            assert await tx.dead_letters.add(letter)
    return [mail.outbox_id for mail, _ in made]


def _dead(number: int, cipher: Cipher, at: datetime, changes: dict[str, Any]) -> tuple[Mail, DeadLetter]:
    content = replace(CONTENT, recipient=f"number-{number}@hospital.example")
    sealed = seal_mail(cipher, a_mail(number).outbox_id, content)
    company = changes.get("company_id", "company-1")
    mail = a_mail(
        number, sealed=sealed, company_id=company, state=MailState.FAILED, attempts=5, dead_lettered_at=at
    )
    values = {"original_data": sealed, "moved_at": at, "last_failure_at": at} | changes
    return mail, a_dead_letter(number, **values)
