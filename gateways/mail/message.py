"""A mail in the form that travels (RFC 5322): text and HTML, in seven bits, with ids that never change."""

from email.message import EmailMessage
from email.policy import SMTP

from domain.mail.sending import RenderedMail

OUTBOX_HEADER = "X-Reenvio-Outbox-Id"
"""SES puts a Message-Id of its own in the place of ours: by this one a second copy is known there too."""
_POLICY = SMTP.clone(cte_type="7bit")


def message_bytes(mail: RenderedMail, sender: str) -> bytes:
    """The message; nobody's automatic answer is asked for (RFC 3834)."""
    message = EmailMessage(policy=_POLICY)
    message["From"] = sender
    message["To"] = ", ".join(mail.to)
    message["Subject"] = mail.subject
    message["Date"] = mail.date
    message["Message-ID"] = mail.message_id
    message["Auto-Submitted"] = "auto-generated"
    message[OUTBOX_HEADER] = mail.outbox_id
    message.set_content(mail.text, cte="quoted-printable")
    message.add_alternative(mail.html, subtype="html", cte="quoted-printable")
    return message.as_bytes()
