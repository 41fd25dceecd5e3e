"""A signed word about the whole trail at one moment, to be kept where the database's masters cannot reach."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import Trouble
from domain.outputs import iso_time
from persistence.audit.anchors import Anchor, Anchors, NoAuditKey
from persistence.audit.events import Audit
from persistence.audit.seals import Judgement, Seals
from persistence.database.canonical import canonical

KIND = "reenvio audit anchor 1"
NEEDED = {
    "kind": str,
    "at": str,
    "day": str | None,
    "anchorHash": str | None,
    "firstEvent": int,
    "lastEvent": int,
    "events": int,
    "digest": str,
    "key": str,
    "publicKey": str,
    "signature": str,
}


class NotACheckpoint(Trouble):
    """A file that is none of ours."""

    def __init__(self) -> None:
        super().__init__(
            "This is no anchor that `reenvio audit anchor` has printed: give the file it went to."
        )


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What was printed: the newest daily anchor, and the events since."""

    content: dict[str, Any]

    @property
    def text(self) -> str:
        """As it is printed, one line of JSON."""
        return canonical(self.content)

    @property
    def signed(self) -> str:
        """What its signature is over."""
        return canonical({name: value for name, value in self.content.items() if name != "signature"})


def read_checkpoint(text: str) -> Checkpoint:
    """A checkpoint from what was printed; a NotACheckpoint where it is something else."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotACheckpoint from error
    if not isinstance(content, dict) or content.get("kind") != KIND or not _is_complete(content):
        raise NotACheckpoint
    return Checkpoint(content)


def _is_complete(content: dict[str, Any]) -> bool:
    return all(name in content and isinstance(content[name], kind) for name, kind in NEEDED.items())


class Checkpoints:
    """Makes checkpoints, and holds the trail against one."""

    def __init__(self, connection: AsyncConnection, seals: Seals) -> None:
        self._seals = seals
        self._audit = Audit(connection, seals)
        self._anchors = Anchors(connection, seals)

    async def make(self, now: datetime) -> Checkpoint:
        """A checkpoint of this moment; it needs a transaction that may write, to wait for who appends."""
        if (key := self._seals.current) is None:
            raise NoAuditKey
        last, first = await self._audit.settled(), await self._anchors.first_open()
        newest = await self._anchors.newest()
        found = await self._audit.digest_between(first, last)
        unsigned = Checkpoint(
            {
                "kind": KIND,
                "at": iso_time(now),
                "day": newest.day.isoformat() if newest else None,
                "anchorHash": newest.hash if newest else None,
                "firstEvent": first,
                "lastEvent": last,
                "events": found.events,
                "digest": found.digest,
                "key": key.name,
                "publicKey": key.public,
            }
        )
        return Checkpoint(unsigned.content | {"signature": key.sign(unsigned.signed)})

    async def problem(self, kept: Checkpoint, *, pruned_through: int) -> str | None:
        """How the trail differs from what was printed, if it does."""
        content = kept.content
        judgement = self._seals.judge_anchor(kept.signed, content["signature"], content["key"])
        if judgement is Judgement.FALSE:
            return "its signature does not fit: the file was changed"
        if judgement is Judgement.UNKNOWN:
            return f"it is signed with the key {content['key']}, which is not set: add it to ENCRYPTION_KEYS"
        if content["day"] and not any(_is(anchor, content) for anchor in await self._anchors.all()):
            return f"the daily anchor of {content['day']} is not the one it names: removed or rewritten"
        if content["firstEvent"] <= pruned_through:
            return None  # retention has removed what was open then; the daily anchors after it still stand
        found = await self._audit.digest_between(content["firstEvent"], content["lastEvent"])
        if found.digest != content["digest"]:
            told = f"{found.events} of {content['events']} are there"
            return f"the events that it holds were removed, added or rewritten since: {told}"
        return None


def _is(anchor: Anchor, content: dict[str, Any]) -> bool:
    return (anchor.day.isoformat(), anchor.hash) == (content["day"], content["anchorHash"])
