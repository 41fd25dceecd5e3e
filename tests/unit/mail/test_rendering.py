"""A mail's words: in both languages, as text and HTML, with a link and without anybody's markup."""

from pathlib import Path

import pytest

from bpmn.names import Template
from domain.mail.codes import MailFailure
from domain.mail.mail import MailContent
from domain.mail.sending import RenderedMail
from tests.support.builders import NOW
from tests.support.mail_stage import RECIPIENTS, SENDER
from tests.support.mails import a_mail
from workers.config.settings import SettingsError
from workers.mail.death_notices import NOTICES
from workers.mail.recipients import OtherGroup
from workers.mail.rendering import Renderer, read_texts
from workers.upkeep.reports import ReportKind

TEMPLATES = [*Template, *NOTICES.values()]
FACTS = {"claimId": "CLM-7-1", "companyId": "c1", "outboxId": "o1", "failedAttempts": "5"}
FACTS |= {"code": "421", "reason": "SMTP 421: x"}


def rendered(template: str, language: str, *, url: str | None = None, **data: str) -> RenderedMail:
    content = MailContent("BILLING_MANAGEMENT", template, language, FACTS | data)
    mail = Renderer(SENDER, RECIPIENTS, console_url=url).render(a_mail(), content, NOW)
    assert not isinstance(mail, MailFailure)
    return mail


@pytest.mark.parametrize("language", ["pt", "en"])
@pytest.mark.parametrize("template", TEMPLATES)
def test_every_text_exists_in_both_languages_and_fills_every_gap(template: str, language: str) -> None:
    mail = rendered(template, language)
    assert "$" not in mail.subject + mail.text + mail.html
    assert " - " not in mail.subject
    assert ("CLM-7-1" in mail.subject) is (template not in NOTICES.values())


@pytest.mark.parametrize("language", ["pt", "en"])
def test_a_company_is_told_of_no_command_that_it_cannot_run(language: str) -> None:
    assert "reenvio dlq" in rendered(NOTICES[OtherGroup.ADMINISTRATOR], language).text
    assert "reenvio dlq" not in rendered(NOTICES[OtherGroup.COMPANY], language).text


def test_nothing_else_is_packaged() -> None:
    reports = {f"report-{kind}" for kind in ReportKind}
    assert {template for template, _ in read_texts()} == set(TEMPLATES) | reports


@pytest.mark.parametrize("part", ["text", "html"])
def test_the_claim_is_linked_where_there_is_a_console(part: str) -> None:
    url = "https://console.hospital.example"
    assert f"{url}/claims/CLM-7-1" in getattr(rendered("permanent-error", "pt", url=url), part)
    assert "http" not in getattr(rendered("permanent-error", "pt"), part)


def test_what_is_filled_in_is_no_markup_and_no_header() -> None:
    mail = rendered("permanent-error", "pt", url="https://c", claimId="<b>\r\nBcc: x@y.z")
    assert "<b>" not in mail.html
    assert "\n" not in mail.subject
    assert "/claims/%3Cb%3E" in mail.text


def test_a_reference_that_is_missing_leaves_a_dash() -> None:
    content = MailContent("BILLING_MANAGEMENT", "permanent-error", "pt")
    mail = Renderer(SENDER, RECIPIENTS).render(a_mail(), content, NOW)
    assert isinstance(mail, RenderedMail)
    assert mail.subject.startswith("Cobrança -:")


def test_texts_of_ones_own_come_beside_the_packaged_ones(tmp_path: Path) -> None:
    (tmp_path / "hello.pt.toml").write_text(
        'subject = "Olá"\nparagraphs = ["Bom dia: R$ 5"]', encoding="utf-8"
    )
    texts = read_texts(tmp_path)
    assert texts["hello", "pt"].subject == "Olá"
    content = MailContent("BILLING_MANAGEMENT", "hello", "pt")
    assert isinstance(Renderer(SENDER, RECIPIENTS, texts).render(a_mail(), content, NOW), RenderedMail)
    assert ("permanent-error", "pt") in texts


def test_a_text_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "hello.pt.toml").write_text("subject = 7", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"MAIL_TEMPLATES: hello\.pt\.toml"):
        read_texts(tmp_path)


def test_a_folder_of_texts_that_is_not_there_is_told_before_mail_dies_of_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="MAIL_TEMPLATES"):
        read_texts(tmp_path / "texts")


@pytest.mark.parametrize("name", ["permanent-error.fr.toml", "Permanent.pt.toml", "permanent-error.toml"])
def test_a_text_that_nobody_could_ask_for_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('subject = "x"\nparagraphs = ["y"]\n', encoding="utf-8")
    with pytest.raises(SettingsError, match=name):
        read_texts(tmp_path)
