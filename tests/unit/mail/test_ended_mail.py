"""A mail whose process was ended: dead with that reason, unless somebody is sending it or it is over."""

from dataclasses import replace

import pytest

from domain.mail.attempts import end, is_untouched
from domain.mail.codes import OwnCode
from domain.mail.mail import MailState
from domain.standing import HeldJob
from tests.support.builders import NOW, later
from tests.support.mails import a_mail

ENDED = "PROCESS_ENDED: its process was ended in the engine before it was sent"


@pytest.mark.parametrize(("made", "counted"), [(0, 1), (1, 1), (3, 3)])
def test_it_dies_of_that_and_counts_the_attempts_that_were_made(made: int, counted: int) -> None:
    died = end(a_mail(attempts=made), NOW)
    assert died is not None
    assert (died.mail.state, died.mail.attempts) == (MailState.FAILED, counted)
    assert died.mail.last_failure_code == OwnCode.PROCESS_ENDED
    assert died.mail.last_failure_reason == ENDED


@pytest.mark.parametrize("state", [MailState.SENT, MailState.FAILED])
def test_one_that_is_over_stays_what_it_is(state: MailState) -> None:
    assert end(a_mail(state=state), NOW) is None


def test_one_that_is_being_sent_is_left_to_its_worker_while_its_lease_lasts() -> None:
    sending = a_mail(attempts=1, sending_until=later(seconds=30))
    assert end(sending, NOW) is None
    assert end(sending, later(minutes=1)) is not None


def test_one_that_somebody_had_in_hand_or_brought_back_since_has_gone_on() -> None:
    seen = a_mail(attempts=1).in_hands_of(HeldJob(7, 3, NOW))
    assert is_untouched(replace(seen, published_at=NOW), seen)
    assert not is_untouched(seen.in_hands_of(HeldJob(8, 3, later(minutes=1))), seen)
    assert not is_untouched(seen.requeued(NOW), seen)
