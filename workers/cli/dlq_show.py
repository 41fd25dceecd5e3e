"""`reenvio dlq show`: one dead letter, why it died, and what helps."""

from datetime import datetime
from typing import Annotated

import typer

from domain.mail.dead_letters import DeadLetter
from domain.mail.mail import Mail
from domain.mail.remedies import remedy
from domain.operators import Attribution
from persistence.repositories.mails import mail_context
from persistence.store import Store
from workers.app.ciphers import keys_as_given, opened_cipher
from workers.app.cluster import clock_here
from workers.cli.database import with_store, with_trail
from workers.cli.dlq_options import refuse
from workers.cli.operator import ByOption, ReasonOption, signed
from workers.cli.output import tell
from workers.config.settings import Settings, read_settings
from workers.upkeep.letter_orders import OpenedLetter, open_letter

WITH_DATA = "Also what it was to say and what the server said; asks why, and is kept on record."
LetterArgument = Annotated[str, typer.Argument(help="The letter's outboxId.", metavar="OUTBOX_ID")]
DataOption = Annotated[bool, typer.Option("--with-data", help=WITH_DATA)]


def show(
    letter: LetterArgument, with_data: DataOption = False, reason: ReasonOption = None, by: ByOption = None
) -> None:
    """One dead letter, and what helps; what it was to say and the server's words stay sealed."""
    settings = read_settings()
    given = signed(reason, by) if with_data else Attribution("", "")

    async def go(store: Store) -> None:
        found, mail = await _find(store, letter)
        _tell(_facts(found) | _about(mail) | {"sealed with": _key_of(found, settings)})
        if with_data:
            now, cipher = await clock_here(settings, store).now(), await opened_cipher(settings, store)
            _tell(_opened(await open_letter(store, cipher, (found, mail), (given, now))))

    (with_trail if with_data else with_store)(go, settings)


async def _find(store: Store, letter: str) -> tuple[DeadLetter, Mail | None]:
    async with store.reading() as tx:
        found, mail = await tx.dead_letters.find(letter), await tx.mails.find(letter)
    if found is None:
        refuse(f"There is no dead letter {letter}: see `reenvio dlq list`.")
    return found, mail


def _tell(facts: dict[str, object]) -> None:
    for name, value in facts.items():
        tell(f"{name:22} {value}")


def state_of(letter: DeadLetter) -> str:
    """Whether it rests or is sent again."""
    return "on its way" if letter.redriven_at else "dead"


def _facts(letter: DeadLetter) -> dict[str, object]:
    """The document's fields, but what the mail was to say; and what helps."""
    fields = letter.exported({})
    del fields["originalData"]
    redriven = {"sent again": _time(letter.redriven_at)} if letter.redriven_at else {}
    helps = f"{remedy(letter.last_failure_code)}; then `reenvio dlq redrive {letter.outbox_id}`."
    state = {"expires": _time(letter.expires_at), "state": state_of(letter)}
    return fields | state | redriven | {"what helps": helps}


def _about(mail: Mail | None) -> dict[str, object]:
    return {"template": mail.template, "claim": mail.claim_id or "-", "round": mail.round} if mail else {}


def _key_of(letter: DeadLetter, settings: Settings) -> str:
    """The key that its content was sealed with, and whether it opens here."""
    opens = keys_as_given(settings).opens(letter.original_data, context=mail_context(letter.outbox_id))
    key_id = "".join(letter.original_data.split(":", 2)[1:2]) or "-"
    return f"key {key_id}" if opens else f"key {key_id}, which does not open it here: `reenvio keys list`"


def _opened(letter: OpenedLetter) -> dict[str, object]:
    content = letter.content
    data = ", ".join(f"{name}={value}" for name, value in content.data.items())
    said = letter.said or "-"
    return {"to": content.recipient, "language": content.language, "data": data, "the server": said}


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
