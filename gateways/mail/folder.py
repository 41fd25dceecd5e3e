"""A folder of .eml files: what would have left, for whoever has no mail server yet."""

import asyncio
from pathlib import Path

from domain.mail.codes import MailFailure, OwnCode
from domain.mail.sending import MailNotSent, MailResult, MailSent, RenderedMail
from gateways.mail.message import message_bytes
from gateways.private_folders import private_folder


class FolderMail:
    """Writes each mail to a file named after its id: written twice it is still one."""

    def __init__(self, folder: Path, sender: str) -> None:
        self._folder = folder
        self._sender = sender

    async def send(self, mail: RenderedMail) -> MailResult:
        """Write it."""
        try:
            await asyncio.to_thread(self._write, mail)
        except OSError as error:
            return MailNotSent(MailFailure(OwnCode.NOT_WRITTEN, said=str(error)))
        return MailSent(mail.message_id)

    async def close(self) -> None:
        """Nothing is open."""

    def _write(self, mail: RenderedMail) -> None:
        private_folder(self._folder)
        file = self._folder / f"{mail.outbox_id}.eml"
        draft = file.with_suffix(".part")
        draft.touch(mode=0o600)
        draft.write_bytes(message_bytes(mail, self._sender))
        draft.replace(file)
