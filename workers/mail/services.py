"""What the jobs of mail work with."""

from dataclasses import dataclass, field
from datetime import timedelta

from domain.mail.attempts import AttemptTerms
from domain.mail.retry import MailRetryProfile
from workers.mail.automatic_redrive import CoolDowns
from workers.mail.fair_lanes import FairLanes
from workers.mail.queueing import MailQueue
from workers.mail.sending import MailSender

REPORT_TIME = timedelta(seconds=10)
LOCK_MARGIN = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class MailServices:
    """The queue, who sends, and in which order; `at_once` is how many mails are sent at the same time.

    `cool_downs`: after how long dead letters of a code are brought back without being asked for.
    """

    queue: MailQueue
    sender: MailSender
    lanes: FairLanes
    seconds: float = 20.0
    at_once: int = 5
    cool_downs: CoolDowns = field(default_factory=dict)

    @property
    def time_limit(self) -> timedelta:
        """How long an attempt may take, with what is written down of it."""
        return attempt_limit(self.seconds)


def attempt_terms(profile: MailRetryProfile, seconds: float) -> AttemptTerms:
    """By which terms an attempt is made that has so many seconds with its server."""
    return AttemptTerms(profile, attempt_limit(seconds), timedelta(seconds=seconds))


def attempt_limit(seconds: float) -> timedelta:
    """How long an attempt may take that has so many seconds with its server."""
    return timedelta(seconds=seconds) + REPORT_TIME
