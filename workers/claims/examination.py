"""Looks a file over before anything is kept: XML, batch, payer, schema; and says which claim it would be."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from domain.claim import ClaimId
from domain.intake import IntakeTerms
from domain.refusals import FileFault, Refusal, malformed, too_large, unprocessable
from gateways.tiss.client import Call
from gateways.tiss.lote import Lote, LoteRefusedError, read_lote
from gateways.tiss.parties import Provider
from gateways.tiss.validation import Violation, listed
from gateways.tiss.xml import XmlProblem
from persistence.database.group_commit import GroupCommit
from persistence.encryption.cipher import Cipher
from persistence.repositories.claims import Arrival
from workers.claims.claim_ids import derived_claim_ids, given_claim_id
from workers.payers.channels import PayerChannel

NO_KEYS = Cipher(current="", keys={})
_NO_PAYERS = "Describe your payers in a file and name it by PAYERS_FILE."
Channels = Mapping[str, PayerChannel]
READ_TOGETHER, COUNTED_BYTES = 262_144, 8_192
"""Bytes of files that are read by one call of a thread, and for how many a small file counts at least."""


@dataclass(frozen=True, slots=True)
class ClaimFile:
    """What somebody hands in; the file is nobody else's to see.

    One that `corrects` a claim's is for that claim's payer and no other.
    """

    data: bytes = field(repr=False)
    payer: str | None = None
    deadline: str | None = None
    claim_id: str | None = None
    corrects: bool = False


@dataclass(frozen=True, slots=True)
class Examined:
    """What a good file says, without its persons."""

    payer_id: str
    registro_ans: str
    provider: Provider
    batch_number: str
    guide_numbers: tuple[str, ...]
    digest: str
    earlier_digest: str

    @property
    def guides(self) -> int:
        """How many there are."""
        return len(self.guide_numbers)


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file that could be sent: what it says, and the claim it would be.

    `earlier_ids` are those under which the same batch may be known from before our keys changed.
    """

    examined: Examined
    arrival: Arrival
    earlier_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _ToRead:
    """A file that waits to be read; another with the same content is another."""

    file: ClaimFile
    now: datetime

    @property
    def size(self) -> int:
        return max(len(self.file.data), COUNTED_BYTES)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads files in a thread, one after the other: a large one takes memory. `channels` are the payers.

    Small files that wait are handed to the thread together, in one call.
    `cipher` has the keys by which numbers of persons are hashed for ids.
    """

    channels: Channels
    terms: IntakeTerms
    cipher: Cipher = NO_KEYS
    _reading: GroupCommit[_ToRead, Examined | Exception] = field(init=False)

    def __post_init__(self) -> None:
        together = GroupCommit(
            self._examine_all, key=lambda one: one, limit=READ_TOGETHER, size=lambda one: one.size
        )
        object.__setattr__(self, "_reading", together)

    async def look_over(self, file: ClaimFile, now: datetime) -> CheckedFile:
        """The file, checked; a Refusal says what is wrong with it."""
        given = given_claim_id(file.claim_id) if file.claim_id else None
        due = self.terms.due(file.deadline, now)
        examined = await self._reading.add(_ToRead(file, now))
        if isinstance(examined, Exception):
            raise examined
        payer, batch = examined.payer_id, examined.batch_number
        ids = (given,) if given else self._ids(examined)
        arrival = Arrival(ids[0].value, payer, due, examined.digest, batch, examined.earlier_digest)
        return CheckedFile(examined, arrival, tuple(earlier.value for earlier in ids[1:]))

    async def _examine_all(self, files: Sequence[_ToRead]) -> Sequence[Examined | Exception]:
        return await asyncio.to_thread(lambda: [self._examined(one) for one in files])

    def _examined(self, one: _ToRead) -> Examined | Exception:
        """Whatever is wrong with a file is told to who handed it in, and to nobody else."""
        try:
            return examine(one.file, self.channels, one.now, max_bytes=self.terms.max_bytes)
        except Exception as error:
            return error

    def _ids(self, examined: Examined) -> Sequence[ClaimId]:
        return derived_claim_ids(self.cipher, examined.registro_ans, examined.provider, examined.batch_number)


def examine(file: ClaimFile, channels: Channels, now: datetime, *, max_bytes: int) -> Examined:
    """Read and check a file; it blocks for as long as the file is large."""
    if len(file.data) > max_bytes:
        raise too_large(max_bytes)
    lote = _read(file.data, max_bytes)
    payer_id, channel = _payer(file, lote, channels)
    provider = channel.client.provider_of(lote)
    if provider is None:
        raise unprocessable(
            "file",
            "neither it nor the payer's settings name the provider",
            rule="cabecalho/origem",
            remedy=f"Set provider in [payers.{payer_id}], or hand in a file with its header.",
        )
    if violations := channel.client.check(lote, Call("1", now)):
        raise _violated(violations, channel)
    registro = channel.settings.registro_ans
    return Examined(payer_id, registro, provider, lote.number, lote.guides, lote.digest, lote.earlier_digest)


def channels_to(channels: Channels, registro_ans: str) -> list[str]:
    """The names under which one payer is configured."""
    return sorted(name for name, channel in channels.items() if channel.settings.registro_ans == registro_ans)


def _read(data: bytes, max_bytes: int) -> Lote:
    try:
        return read_lote(data)
    except LoteRefusedError as error:
        raise _unread(error, max_bytes) from None


def _unread(error: LoteRefusedError, max_bytes: int) -> Refusal:
    why = str(error).rstrip(".")
    if error.problem is XmlProblem.TOO_LARGE:
        return too_large(max_bytes)
    if error.problem:
        remedy = "Export the batch again from the hospital's system."
        return malformed("file", why, rule="well-formed XML without entities", remedy=remedy)
    return unprocessable("file", why, rule="TISS loteGuias", remedy="Hand in one TISS batch file.")


def _payer(file: ClaimFile, lote: Lote, channels: Channels) -> tuple[str, PayerChannel]:
    payer_id = file.payer or _addressee(lote, channels)
    channel = channels.get(payer_id)
    if channel is None:
        remedy = f"Add [payers.{payer_id}] to PAYERS_FILE." if channels else _NO_PAYERS
        raise unprocessable("payer", f"{payer_id} is not configured", rule="PAYERS_FILE", remedy=remedy)
    registro = channel.settings.registro_ans
    if lote.registro_ans not in (None, registro):
        raise _for_another(file, lote, payer_id, registro)
    return payer_id, channel


def _for_another(file: ClaimFile, lote: Lote, payer_id: str, registro: str) -> Refusal:
    named = payer_id if payer_id == registro else f"{payer_id} (registroANS {registro})"
    keeps = f"The claim stays with payer {payer_id}: give its own corrected file"
    remedy = f"{keeps}." if file.corrects else "Name the payer the file is for, or none."
    return unprocessable(
        "file" if file.corrects else "payer",
        f"the file is for registroANS {lote.registro_ans}, not for payer {named}",
        rule="cabecalho/destino/registroANS",
        remedy=remedy,
    )


def _addressee(lote: Lote, channels: Channels) -> str:
    """The payer the file names; several channels to one payer must be told apart by hand."""
    if lote.registro_ans is None:
        raise unprocessable(
            "payer",
            "the file names none",
            rule="cabecalho/destino/registroANS",
            remedy="Name the payer beside the file.",
        )
    found = channels_to(channels, lote.registro_ans)
    if len(found) > 1:
        raise unprocessable(
            "payer",
            f"registroANS {lote.registro_ans} has several channels",
            rule="PAYERS_FILE",
            remedy=f"Name one of {', '.join(found)}.",
        )
    return found[0] if found else lote.registro_ans


def _violated(violations: tuple[Violation, ...], channel: PayerChannel) -> Refusal:
    refusal = unprocessable(
        "file",
        listed(violations),
        rule=f"TISS {channel.settings.version} schema",
        remedy="Correct these elements and hand it in again.",
    )
    refusal.faults = tuple(FileFault(one.element, one.rule, one.line, one.guide) for one in violations)
    return refusal
