"""Whether one claim's own chain is whole, at a glance; `audit verify` proves the whole trail."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from persistence.audit.chain import AuditEvent, is_sealed
from persistence.audit.seals import Judgement, Seals


class SealState(StrEnum):
    """What a look at a chain says."""

    WHOLE = "whole"
    UNPROVEN = "unproven"
    BROKEN = "broken"
    EMPTY = "empty"


def seal_state(chain: Sequence[AuditEvent], seals: Seals) -> SealState:
    """Each event as it was sealed and after the one before it, by keys of ours where they are here."""
    if not chain:
        return SealState.EMPTY
    follows = all(after.previous_hash == before.hash for before, after in pairwise(chain))
    judged = {seals.judge_event(event.hash, event.seal, event.seal_key) for event in chain}
    if not follows or not all(map(is_sealed, chain)) or Judgement.FALSE in judged:
        return SealState.BROKEN
    return SealState.UNPROVEN if Judgement.UNKNOWN in judged else SealState.WHOLE


@dataclass(frozen=True, slots=True)
class JudgedEvent:
    """An event, and what a look at it and at the one before it says."""

    event: AuditEvent
    seal: SealState


@dataclass(frozen=True, slots=True)
class ReadTrail:
    """The end of a chain, oldest first; `is_cut` says that there is more before it."""

    events: tuple[JudgedEvent, ...]
    state: SealState
    is_cut: bool


def read_trail(chain: Sequence[AuditEvent], seals: Seals, *, is_cut: bool) -> ReadTrail:
    """Each event judged, and all of them together."""
    judged = (JudgedEvent(after, _judged(before, after, seals)) for before, after in _pairs(chain))
    return ReadTrail(tuple(judged), seal_state(chain, seals), is_cut)


def _pairs(chain: Sequence[AuditEvent]) -> Sequence[tuple[AuditEvent | None, AuditEvent]]:
    return list(zip([None, *chain], chain, strict=False))


def _judged(before: AuditEvent | None, event: AuditEvent, seals: Seals) -> SealState:
    follows = before is None or event.previous_hash == before.hash
    judgement = seals.judge_event(event.hash, event.seal, event.seal_key)
    if not follows or not is_sealed(event) or judgement is Judgement.FALSE:
        return SealState.BROKEN
    return SealState.UNPROVEN if judgement is Judgement.UNKNOWN else SealState.WHOLE
