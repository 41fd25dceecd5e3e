"""What the demo says of its mail, and that what did not arrive counts."""

from domain.mail.mail import MailState
from gateways.practice.mail_server import ArrivedMail, Mailbox
from workers.demo.mail import mail_environment, mail_line, not_arrived


def mailbox(*ids: str) -> Mailbox:
    return Mailbox(arrived=[ArrivedMail(("a@b.c",), f"Message-ID: <{one}>\r\n\r\n".encode()) for one in ids])


def test_arrived_notices_are_told_beside_those_that_were_asked_for() -> None:
    queued = {MailState.SENT: 2}
    assert mail_line(queued, mailbox("1", "2")) == "The mail server: 2 of 2 notices arrived, none twice."
    assert mail_line(queued, mailbox("1", "2", "2")) == "The mail server: 2 of 2 notices arrived, 1 twice."


def test_what_did_not_arrive_is_counted() -> None:
    assert not_arrived({MailState.SENT: 1, MailState.PENDING: 1}, mailbox("1")) == 1
    assert not_arrived({MailState.SENT: 1}, mailbox("1", "1")) == 0


def test_the_demos_mail_goes_to_the_demos_server_alone() -> None:
    assert (mail_environment(2525)["MAIL_SMTP_HOST"], mail_environment(2525)["MAIL_SMTP_PORT"]) == (
        "127.0.0.1", "2525"
    )  # fmt: skip
