"""A mail's words: subject, text and HTML from one template, with references and a link, and nobody's data."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Annotated
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from domain.mail.codes import MailFailure, OwnCode
from domain.mail.mail import Mail, MailContent, message_id
from domain.mail.sending import RenderedMail
from workers.config.topic import SettingsError
from workers.mail.recipients import Recipients
from workers.mail.tables import TABLES, Tables, read_tables

CLAIM_ID = "claimId"
SIGNATURE = "Reenvio"
SUBJECT_MAX = 255
"""Longer ones are cut: nobody reads them, and folding them takes its time."""
_FILE_NAME = re.compile(r"(?P<template>[a-z][a-z0-9\-]{0,63})\.(?P<language>pt|en)\.toml", re.ASCII)
Line = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]


class MailText(BaseModel):
    """One text in one language, as its file holds it; `$claimId` and the like stand for references."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: Line
    paragraphs: tuple[Line, ...]
    link: Line | None = None


Texts = Mapping[tuple[str, str], MailText]
"""By template and language."""


def read_texts(own: Path | None = None) -> Texts:
    """The packaged texts, and those of a folder of one's own, which win."""
    packaged = Path(str(resources.files("workers.mail"))) / "templates"
    if own is not None and not own.is_dir():
        raise SettingsError(f"MAIL_TEMPLATES: {own} is no folder.")
    folders = [packaged] if own is None else [packaged, own]
    return {_named(file): _read(file) for folder in folders for file in sorted(folder.glob("*.toml"))}


def _named(file: Path) -> tuple[str, str]:
    """Template and language; a file that nobody could ask for would be missed only when its mail dies."""
    if named := _FILE_NAME.fullmatch(file.name):
        return named["template"], named["language"]
    raise SettingsError(
        f"MAIL_TEMPLATES: {file.name} is nobody's text: name it such as permanent-error.pt.toml, in small "
        "letters, digits and hyphens, with pt or en."
    )


def _read(file: Path) -> MailText:
    try:
        return MailText.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise SettingsError(
            f"MAIL_TEMPLATES: {file.name} cannot be used ({type(error).__name__}): it needs `subject` and "
            "`paragraphs`, and may have `link`."
        ) from error


@dataclass(frozen=True, slots=True)
class Renderer:
    """Makes mails of contents; `console_url` is where links to claims lead."""

    sender: str
    recipients: Recipients
    texts: Texts = field(default_factory=read_texts)
    console_url: str | None = None

    def knows(self, template: str) -> bool:
        """Whether there is such a text, in whatever language."""
        return any(template == known for known, _language in self.texts)

    def render(self, mail: Mail, content: MailContent, now: datetime) -> RenderedMail | MailFailure:
        """The mail as it leaves, or why it cannot."""
        text = self.texts.get((content.template, content.language))
        if text is None:
            return MailFailure(OwnCode.NO_TEMPLATE)
        to = self.recipients.of(content.recipient, mail.company_id)
        if not to:
            return MailFailure(OwnCode.NO_RECIPIENT)
        filled = _filled(text, content.data)
        link = self._link(content.data) if filled.link else None
        tables = Tables(read_tables(content.data.get(TABLES)), self.console_url)
        return RenderedMail(
            outbox_id=mail.outbox_id,
            message_id=message_id(mail.outbox_id, self.sender.rpartition("@")[2]),
            date=now,
            to=to,
            subject=" ".join(filled.subject.split())[:SUBJECT_MAX],
            text=_plain(filled, link, tables),
            html=_html(filled, link, tables),
        )

    def _link(self, data: Mapping[str, str]) -> str | None:
        claim_id = data.get(CLAIM_ID)
        return (
            f"{self.console_url}/claims/{quote(claim_id, safe='')}" if self.console_url and claim_id else None
        )


def _filled(text: MailText, data: Mapping[str, str]) -> MailText:
    known = defaultdict(lambda: "-", data)
    fill = [Template(line).safe_substitute(known) for line in (text.subject, *text.paragraphs)]
    return text.model_copy(update={"subject": fill[0], "paragraphs": tuple(fill[1:])})


def _plain(text: MailText, link: str | None, tables: Tables) -> str:
    linked = [f"{text.link}: {link}"] if link else []
    return "\n\n".join([*text.paragraphs, *tables.plain(), *linked, f"-- \n{SIGNATURE}"]) + "\n"


def _html(text: MailText, link: str | None, tables: Tables) -> str:
    shown = [*(f"<p>{escape(line)}</p>" for line in text.paragraphs), *tables.html()]
    if link and text.link:
        shown.append(f'<p><a href="{escape(link)}">{escape(text.link)}</a></p>')
    return _page(text.subject, [*shown, f"<p>-- <br>{SIGNATURE}</p>"])


def _page(title: str, body: Sequence[str]) -> str:
    head = f'<head><meta charset="utf-8"><title>{escape(title)}</title></head>'
    return f"<!doctype html>\n<html>{head}\n<body>\n" + "\n".join(body) + "\n</body></html>\n"
