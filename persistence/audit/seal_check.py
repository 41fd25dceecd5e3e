"""Whether events bear seals of ours, and what proves those that do not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from persistence.audit.anchor_check import AnchorCheck
from persistence.audit.chain import AuditEvent
from persistence.audit.seals import Judgement, Seals

UNPROVEN = "bear no seal of a key that is set, and no signed anchor closes them in"
PERHAPS = (
    "a worker of an earlier version or without a key wrote them, their key is missing in ENCRYPTION_KEYS, "
    "or somebody else wrote them"
)


@dataclass(slots=True)
class SealCheck:
    """Events without a seal of a key that is set are `closed_in` by a signed anchor, or `unproven`."""

    seals: Seals
    anchors: AnchorCheck
    closed_in: int = 0
    unproven: int = 0

    def problems(self, chain: Sequence[AuditEvent]) -> Iterator[tuple[str, str]]:
        """Seals of a chain that do not fit, and events that nothing proves; where, and what."""
        before = self.unproven
        for event in chain:
            if self._judged(event) is Judgement.FALSE:
                what = "its seal does not fit: it was written by somebody without the key"
                yield f"{event.claim_id} event {event.sequence}", what
        if (unproven := self.unproven - before) and self.anchors.signed:
            yield chain[0].claim_id, f"{unproven} of its events {UNPROVEN}: {PERHAPS}"

    def summary(self) -> Iterator[tuple[str, str]]:
        """Told once while no anchor is signed: all events of an earlier version would be named else."""
        if self.unproven and not self.anchors.signed:
            yield "the trail", f"{self.unproven} events {UNPROVEN}: {PERHAPS}"

    def _judged(self, event: AuditEvent) -> Judgement:
        judged = self.seals.judge_event(event.hash, event.seal, event.seal_key)
        if judged is Judgement.UNKNOWN:
            is_proven = event.event_id <= self.anchors.proven_through
            self.closed_in += is_proven
            self.unproven += not is_proven
        return judged
