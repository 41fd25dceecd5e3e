"""What is sealed in the database, by key: which keys are needed, and putting another in their place."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Table, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ClaimState
from persistence.encryption.cipher import FORMAT, KEY_ID_CHARACTERS
from persistence.repositories.free_texts import text_context
from persistence.repositories.mails import mail_context
from persistence.repositories.payloads import payload_context
from persistence.tables import (
    claim_guides,
    claim_payloads,
    claim_texts,
    claims,
    dead_letters,
    idempotency_records,
    mails,
)

START = len(FORMAT) + 2
"""Where a key's id begins in a sealed value, counted from 1."""
MARK = 64
"""So much of a sealed value holds its key's id and its nonce, and is no other's."""
OPEN_STATES = tuple(state for state in ClaimState if not state.is_final)


RowId = str | int


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column of sealed values: how a row is found, what ties its value to it, how many to hold at once.

    A value is tied to its row's `owner`, the row itself unless another is named. `key_name` is the column
    that keeps the key's name beside the value, where there is one.
    """

    what: str
    table: Table
    row: Column[Any]
    value: Column[Any]
    context: Callable[[str], str]
    at_once: int
    key_name: Column[Any] | None = None
    owner: Column[Any] | None = None
    before_all: RowId = ""


FILES = SealedColumn(
    "files",
    claim_payloads,
    claim_payloads.c.claim_id,
    claim_payloads.c.ciphertext,
    payload_context,
    at_once=10,
    key_name=claim_payloads.c.key_name,
)
RESULTS = SealedColumn(
    "results",
    idempotency_records,
    idempotency_records.c.idempotency_key,
    idempotency_records.c.result_data,
    str,
    at_once=200,
)
WORDS = SealedColumn(
    "words",
    claim_texts,
    claim_texts.c.text_id,
    claim_texts.c.ciphertext,
    text_context,
    at_once=200,
    owner=claim_texts.c.claim_id,
    before_all=0,
)
MAILS = SealedColumn("mails", mails, mails.c.outbox_id, mails.c.sealed, mail_context, at_once=200)
MAIL_SERVERS_WORDS = SealedColumn(
    "mail servers' words", mails, mails.c.outbox_id, mails.c.said, mail_context, at_once=200
)
DEAD_LETTERS = SealedColumn(
    "dead letters",
    dead_letters,
    dead_letters.c.outbox_id,
    dead_letters.c.original_data,
    mail_context,
    at_once=200,
)
SEALED = (FILES, RESULTS, WORDS, MAILS, MAIL_SERVERS_WORDS, DEAD_LETTERS)
"""Every column of sealed values: a key that is in none of them, and has no guides, is not needed any more."""


@dataclass(frozen=True, slots=True)
class SealedValue:
    """One sealed value, its row, and whom it is about."""

    row: RowId
    value: str
    owner: str


@dataclass(frozen=True, slots=True)
class KeyUse:
    """How many values of a kind are sealed with a key."""

    what: str
    key_id: str
    values: int


@dataclass(frozen=True, slots=True)
class WaitingFiles:
    """Files that open claims need, by their key's id and by its name (None: an earlier version's)."""

    key_id: str
    key_name: str | None
    claims: int
    example: str


@dataclass(frozen=True, slots=True)
class KeyUses:
    """Everything that depends on keys: sealed values by id, guides of claims by the key's name."""

    values: Sequence[KeyUse]
    guides: Sequence[tuple[str, int]]

    @property
    def key_ids(self) -> Sequence[str]:
        """The ids of all keys that something depends on; of a long one its beginning."""
        of_guides = {name.rpartition(".")[0] for name, _ in self.guides}
        return sorted({use.key_id for use in self.values} | of_guides)


class SealedValues:
    """Looks over all sealed columns."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def uses(self) -> KeyUses:
        """All there is, by key."""
        values = [use for column in SEALED for use in await self._uses(column)]
        by_name = select(claim_guides.c.key_id, func.count(claim_guides.c.claim_id.distinct()))
        found = await self._connection.execute(by_name.group_by(claim_guides.c.key_id))
        return KeyUses(values, [(name, count) for name, count in found])

    async def _uses(self, column: SealedColumn) -> Sequence[KeyUse]:
        key_id = self._key_id(column.value).label("key_id")
        query = select(key_id, func.count()).where(column.value.is_not(None)).group_by(key_id)
        return [KeyUse(column.what, *row) for row in await self._connection.execute(query.order_by(key_id))]

    async def names(self) -> set[str]:
        """The names of all keys that files are sealed with, from one to the next, since there are few."""
        found: set[str] = set()
        last: str | None = ""
        while last is not None:
            query = select(func.min(claim_payloads.c.key_name)).where(claim_payloads.c.key_name > last)
            last = await self._connection.scalar(query)
            found |= {last} if last else set()
        return found

    async def waiting(self, names: Collection[str]) -> Sequence[WaitingFiles]:
        """The files of open claims under a key of no such name."""
        others = await self.names() - set(names)
        groups = [await self._waiting(claim_payloads.c.key_name == name) for name in sorted(others)]
        groups.append(await self._waiting(claim_payloads.c.key_name.is_(None)))
        return [found for group in groups for found in group]

    async def _waiting(self, under: ColumnElement[bool]) -> Sequence[WaitingFiles]:
        key_id = self._key_id(claim_payloads.c.ciphertext).label("key_id")
        named, claim = claim_payloads.c.key_name, claim_payloads.c.claim_id
        query = (
            select(key_id, named, func.count(), func.min(claim))
            .join(claims, claims.c.claim_id == claim)
            .where(under, claims.c.state.in_(OPEN_STATES))
            .group_by(key_id, named)
            .order_by(key_id)
        )
        return [WaitingFiles(*row) for row in await self._connection.execute(query)]

    async def of_a_namesake(self, key_id: str, name: str) -> SealedValue | None:
        """A file under another key of this id, while none is under the one of this name."""
        names = await self.names()
        if name in names:
            return None
        alike = [other for other in names if other.rpartition(".")[0] == name.rpartition(".")[0]]
        under = or_(claim_payloads.c.key_name.is_(None), claim_payloads.c.key_name.in_(alike))
        same = self._key_id(claim_payloads.c.ciphertext) == key_id
        claim = claim_payloads.c.claim_id
        query = select(claim, claim_payloads.c.ciphertext, claim).where(under, same).limit(1)
        row = (await self._connection.execute(query)).one_or_none()
        return None if row is None else SealedValue(*row)

    async def not_under(
        self, column: SealedColumn, key_id: str, name: str, *, after: RowId
    ) -> Sequence[SealedValue]:
        """The next values that are sealed with another key than this one."""
        elsewhere = self._key_id(column.value) != key_id
        if column.key_name is not None:
            elsewhere = or_(elsewhere, column.key_name.is_(None), column.key_name != name)
        query = (
            select(column.row, column.value, column.row if column.owner is None else column.owner)
            .where(column.row > after, column.value.is_not(None), elsewhere)
            .order_by(column.row)
            .limit(column.at_once)
        )
        return [SealedValue(*row) for row in await self._connection.execute(query)]

    async def replace(self, column: SealedColumn, before: SealedValue, after: str, name: str) -> bool:
        """Put a value in the place of one that is still as it was; False when somebody else was faster."""
        same = func.substr(column.value, 1, MARK) == before.value[:MARK]
        values: dict[str, str] = {column.value.name: after}
        if column.key_name is not None:
            values[column.key_name.name] = name
        statement = update(column.table).where(column.row == before.row, same).values(values)
        return (await self._connection.execute(statement)).rowcount == 1

    def _key_id(self, value: Column[Any]) -> ColumnElement[str]:
        """The key's id in a sealed value."""
        position = func.strpos if self._connection.dialect.name == "postgresql" else func.instr
        end = position(func.substr(value, START, KEY_ID_CHARACTERS + 1), ":")
        return func.substr(value, START, end - 1)
