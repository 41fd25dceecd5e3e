"""Services for handlers under test: what a test does not name is as plain as can be."""

from functools import cache
from typing import Any

from domain.mail.retry import DEFAULT_PROFILE, PROFILES
from domain.policy import Policy
from domain.ports import Clock
from gateways.clock import WallClock
from gateways.mail.smtp import SmtpMail, SmtpServer
from gateways.practice.scripted import Script, ScriptedPayer
from gateways.zeebe.messages import ProcessMessage
from persistence.encryption.cipher import Cipher
from persistence.store import Store
from tests.support.lanes import plain_lanes
from workers.jobs.services import Services
from workers.mail.queueing import MailQueue
from workers.mail.recipients import Recipients
from workers.mail.rendering import Renderer, Texts, read_texts
from workers.mail.sending import MailSender
from workers.mail.services import MailServices, attempt_terms
from workers.payers.limits import LimitsByPayer
from workers.payers.waking import Waker
from workers.policy import load_policy

NOBODY = "nobody@hospital.example"


@cache
def packaged_policy() -> Policy:
    """The packaged policy, read once: a test that changes it reads its own."""
    return load_policy()


@cache
def packaged_texts() -> Texts:
    """The packaged texts of mails, read once."""
    return read_texts()


def services(store: Store, **given: Any) -> Services:
    """A practice payer, the packaged policy, the wall's clock and nobody to wake, unless given.

    Where there is a cipher, mail is queued, and its server is away.
    """
    limits = given.get("payer_limits", LimitsByPayer())
    plain: dict[str, Any] = {
        "payer": ScriptedPayer(Script()),
        "policy": packaged_policy,
        "clock": WallClock(),
        "waker": Waker(store, limits),
        "payer_limits": limits,
    }
    together = plain | given
    if cipher := given.get("cipher"):
        together = {"mail": _mail(store, together["clock"], cipher)} | together
    return Services(store=store, **together)


def _mail(store: Store, clock: Clock, cipher: Cipher) -> MailServices:
    queue = MailQueue(store, cipher, _taken, "hospital")
    gateway = SmtpMail(SmtpServer("127.0.0.1", 1, NOBODY, "none"))
    terms = attempt_terms(PROFILES[DEFAULT_PROFILE], 20)
    renderer = Renderer(NOBODY, Recipients(), packaged_texts())
    sender = MailSender(store, clock, cipher, gateway, renderer, queue, terms)
    return MailServices(queue, sender, plain_lanes(store, clock))


async def _taken(_message: ProcessMessage) -> bool:
    return True
