"""Mail as files: readable, private, one per mail."""

from email import message_from_bytes
from pathlib import Path

from domain.mail.codes import OwnCode
from domain.mail.sending import MailNotSent, MailSent, RenderedMail
from gateways.mail.folder import FolderMail
from tests.support.builders import NOW

MAIL = RenderedMail("8d7", "<8d7@x>", NOW, ("ana@hospital.example",), "Aviso", "ação", "<p>ação</p>")


async def test_each_mail_is_one_file_however_often_it_is_written(tmp_path: Path) -> None:
    folder = FolderMail(tmp_path / "mail", "reenvio@hospital.example")
    assert await folder.send(MAIL) == await folder.send(MAIL) == MailSent("<8d7@x>")
    [file] = (tmp_path / "mail").iterdir()
    assert file.name == "8d7.eml"
    assert message_from_bytes(file.read_bytes())["Message-ID"] == "<8d7@x>"
    assert file.parent.stat().st_mode & 0o077 == file.stat().st_mode & 0o077 == 0


async def test_a_folder_that_cannot_be_written_is_a_failure_that_may_pass(tmp_path: Path) -> None:
    (tmp_path / "mail").write_text("a file where the folder should be", encoding="utf-8")
    result = await FolderMail(tmp_path / "mail", "a@b").send(MAIL)
    assert isinstance(result, MailNotSent)
    assert result.failure.code == OwnCode.NOT_WRITTEN
