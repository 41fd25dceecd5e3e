"""retry_success_rate of document 03: which share of the first, second and further attempts succeeds."""

from domain.mail.mail import MailState
from domain.mail.success import MailTally, success_by_attempt


def test_each_attempt_has_its_own_share() -> None:
    tallies = [
        MailTally(1, MailState.SENT, False, 6),
        MailTally(2, MailState.SENT, False, 1),
        MailTally(1, MailState.FAILED, False, 1),
        MailTally(2, MailState.PENDING, False, 2),
    ]
    assert success_by_attempt(tallies) == {1: 6 / 10, 2: 1 / 3}


def test_an_attempt_that_is_under_way_is_not_counted_and_the_one_before_has_failed() -> None:
    assert success_by_attempt([MailTally(2, MailState.PENDING, True, 3)]) == {1: 0.0}
    assert success_by_attempt([MailTally(1, MailState.PENDING, True, 3)]) == {}


def test_mail_that_was_never_tried_says_nothing() -> None:
    assert success_by_attempt([MailTally(0, MailState.PENDING, False, 9)]) == {}
