"""What comes in with a mail's references changes its words, never its headers, markup or recipients."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.codes import OwnCode
from domain.mail.mail import MailContent, MailState, outbox_id
from domain.mail.sending import MailResult, RenderedMail
from gateways.mail.message import message_bytes
from gateways.practice.mail_server import Mailbox
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.mail_stage import RECIPIENTS, SENDER, mail_stage
from tests.support.mails import a_mail
from workers.mail.recipients import Recipients
from workers.mail.rendering import MailText, Renderer
from workers.mail.sending import TEXT_AWAITED
from workers.runtime.outcome import Complete, Incident, Throw

MAIL = outbox_id("notify", 1, "CLM-001-1")
NO_ADDRESSES = [
    "ana@hospital.example\r\nBcc: all@evil.example",
    "ana@hospital.example\nX: y",
    "ana@hospital.example, all@evil.example",
    "Ana <ana@hospital.example>",
    "ana@hospital.example> SIZE=1",
    "ána@hospital.example",
    "ana@hospítal.example",
    "@",
    "a@b@c",
    "ana@",
]


@pytest.mark.parametrize("given", NO_ADDRESSES)
async def test_a_header_that_is_no_address_reaches_nobody_and_is_told_as_that(
    store: Store, given: str
) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        headers = {"recipientGroup": given, "template": "permanent-error"}
        assert await stage.run("notify", headers=headers, claimId="CLM-001-1") == Complete()
        assert isinstance(await stage.send(MAIL), Throw)
        mail = await stage.found(MAIL)
        assert (mail.state, mail.last_failure_code) == (MailState.FAILED, OwnCode.NO_RECIPIENT)
        assert stage.mailbox.arrived == []


@pytest.mark.parametrize("name", ["../../etc/passwd", "permanent-error.pt.toml", "/x", "permanent-error\n"])
async def test_a_template_is_a_name_and_no_path(store: Store, name: str) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        asked: dict[str, Any] = {"recipientGroup": "ADMINISTRATOR", "template": name}
        assert isinstance(await stage.run("queue-email", **asked), Incident)
        headers = {"recipientGroup": "REGISTRATION", "template": name}
        await stage.run("notify", headers=headers, claimId="CLM-001-1")
        stage.clock.pass_by(TEXT_AWAITED)
        assert isinstance(await stage.send(MAIL), Throw)
        assert (await stage.found(MAIL)).last_failure_code == OwnCode.NO_TEMPLATE


def rendered(claim_id: str, **text: Any) -> RenderedMail:
    """A mail about a claim, from a text of one's own."""
    shape: dict[str, Any] = {"subject": "Sobre $claimId", "paragraphs": ("Veja $claimId.",), "link": "Abrir"}
    texts = {("own", "pt"): MailText(**shape | text)}
    renderer = Renderer(SENDER, RECIPIENTS, texts, "https://console.example")
    content = MailContent("ADMINISTRATOR", "own", "pt", {"claimId": claim_id})
    made = renderer.render(a_mail(), content, NOW)
    assert isinstance(made, RenderedMail)
    return made


printable = st.text(min_size=1, max_size=128).filter(str.isprintable)


@given(printable)
def test_a_claims_id_is_words_in_the_mail_and_nothing_else(claim_id: str) -> None:
    mail = rendered(claim_id)
    head, _, _ = message_bytes(mail, SENDER).partition(b"\r\n\r\n")
    names = [line.partition(b":")[0] for line in head.split(b"\r\n") if line[:1] not in b" \t"]
    assert names == [
        b"From", b"To", b"Subject", b"Date", b"Message-ID", b"Auto-Submitted", b"X-Reenvio-Outbox-Id",
        b"MIME-Version", b"Content-Type",
    ]  # fmt: skip
    assert mail.html.count("<") == rendered("plain").html.count("<")


def test_a_placeholder_in_a_reference_is_not_filled_and_an_unknown_one_is_a_dash() -> None:
    assert "Veja $companyId." in rendered("$companyId").text
    assert "Paciente -." in rendered("CLM-001-1", paragraphs=("Paciente $patientName.",)).text


def test_a_text_of_ones_own_that_grows_when_it_is_filled_is_sent() -> None:
    long = "$claimId " * 200
    mail = rendered("x" * 128, subject=long, paragraphs=(long, long))
    assert mail.text.count("x" * 128) >= 400
    assert len(mail.subject) <= 255


class BrokenGateway:
    """Raises what no gateway should."""

    async def send(self, mail: RenderedMail) -> MailResult:
        raise ValueError(f"cannot send to {mail.to}")

    async def close(self) -> None:
        """Nothing is open."""


async def test_an_attempt_that_breaks_is_written_down_and_the_mail_dies_with_that_reason(
    store: Store,
) -> None:
    async with mail_stage(store, Mailbox()) as stage:
        sender = replace(stage.mail.sender, gateway=BrokenGateway())
        await stage.add(a_mail())
        for _ in range(5):
            await sender.attempt(a_mail().outbox_id)
        mail = await stage.found(a_mail().outbox_id)
        assert (mail.state, mail.attempts, mail.last_failure_code) == (MailState.FAILED, 5, OwnCode.OWN_FAULT)
        assert "hospital.example" not in (mail.last_failure_reason or "")


def test_an_address_in_a_companys_place_is_one_or_nobody() -> None:
    assert Recipients().of("ana@hospital.example", "c") == ("ana@hospital.example",)
    assert [Recipients().of(one, "c") for one in NO_ADDRESSES] == [()] * len(NO_ADDRESSES)
