"""A payer that behaves: checks a request, takes batches once, answers questions, keeps the ledger."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from gateways.practice.simulator import replies
from gateways.practice.simulator.answer import Answer
from gateways.practice.simulator.checks import Checks
from gateways.practice.simulator.ledger import CANCELLED, TAKEN, Ledger, LedgerEntry
from gateways.practice.simulator.replies import Card, GlosaOn, ReplyContext
from gateways.practice.simulator.request import Asked, read_request
from gateways.practice.simulator.scenario import PayerScenario
from gateways.tiss.names import FaultWord, Version, ans
from gateways.tiss.outcomes import CancelStatus, ProtocolStatus
from gateways.tiss.parties import Payer
from gateways.tiss.validation import Schemas

NO_CARD = "00000000000000000"  # the ledger keeps no persons
_FINAL = frozenset({ProtocolStatus.CLEARED_FOR_PAYMENT, ProtocolStatus.PAID})


@dataclass(frozen=True, slots=True)
class Handling:
    """How a sound batch is answered: with which deduction, and whether the answer arrives."""

    glosa: GlosaOn | None = None
    answered: bool = True


PLAIN = Handling()


class PayerService:
    """One payer's answers, as the standard wants them."""

    def __init__(self, payer: PayerScenario, ledger: Ledger, schemas: Schemas) -> None:
        self._payer = payer
        self._ledger = ledger
        self._checks = Checks(payer, schemas)

    def handle(self, body: bytes, now: datetime, handling: Handling) -> Answer:
        """Answer any request."""
        asked = read_request(body)
        complaint = self._checks.complaint(asked)
        if asked is None or isinstance(complaint, FaultWord):
            return self._fault(asked, complaint or FaultWord.WRONG_SCHEMA, now, handling)
        if complaint:
            return self.refuse(asked, complaint, now, handling)
        match asked.operation:
            case "loteGuiasWS":
                return self._batch(asked, now, handling)
            case "solicitacaoStatusProtocoloWS":
                return self._status(asked, now)
            case _:
                return self._cancel(asked, now)

    def refuse(self, asked: Asked, code: str, now: datetime, handling: Handling = PLAIN) -> Answer:
        """Refuse a request by a code."""
        self._record(asked, f"refused:{code}", now, handling)
        if asked.operation == "solicitacaoStatusProtocoloWS":
            return Answer(200, replies.status_refusal(self._context(asked, now), code))
        return Answer(200, replies.refusal(self._context(asked, now), code))

    def _fault(self, asked: Asked | None, word: FaultWord | str, now: datetime, handling: Handling) -> Answer:
        self._record(asked, f"fault:{word}", now, handling)
        return Answer(500, replies.fault(FaultWord(word), encoding=self._payer.encoding))

    def _batch(self, asked: Asked, now: datetime, handling: Handling) -> Answer:
        known, older = self._payer.registro_ans, self._payer.version < Version.V4_03_00
        if self._ledger.taken(known, asked.lote or "") or self._is_spent(asked):
            return self.refuse(asked, "1308" if older else "3268", now, handling)
        if self._ledger.has_guide(known, asked.guides):
            return self.refuse(asked, "1308", now, handling)
        entry = self._record(asked, TAKEN, now, handling)
        context, cards = self._context(asked, now), tuple(_cards(asked))
        return Answer(200, replies.receipt(context, entry, cards, handling.glosa))

    def _is_spent(self, asked: Asked) -> bool:
        keeps = self._payer.cancelled_numbers == "spent"
        return keeps and self._ledger.was_cancelled(self._payer.registro_ans, asked.lote or "")

    def _status(self, asked: Asked, now: datetime) -> Answer:
        entry = self._ledger.by_protocol(self._payer.registro_ans, asked.protocol or "")
        if entry is None:
            return self.refuse(asked, "3162" if self._payer.version < Version.V4_03_00 else "3291", now)
        self._record(asked, "told", now)
        cards = tuple(Card(guide, NO_CARD) for guide in entry.guides)
        context, number = self._context(asked, now), self._progress(entry, now)
        return Answer(200, replies.status(context, entry, number, cards))

    def _cancel(self, asked: Asked, now: datetime) -> Answer:
        number = self._payer.cancel_status or self._cancellable(asked, now)
        cancelled = number == CancelStatus.CANCELLED
        self._record(asked, CANCELLED if cancelled else f"cancel:{number}", now)
        return Answer(200, replies.cancellation(self._context(asked, now), asked.lote or "", number))

    def _cancellable(self, asked: Asked, now: datetime) -> CancelStatus:
        entry = self._ledger.taken(self._payer.registro_ans, asked.lote or "")
        if entry is None:
            return CancelStatus.NO_SUCH_BATCH
        if asked.protocol and asked.protocol != entry.protocol:
            return CancelStatus.NO_SUCH_PROTOCOL
        final = self._progress(entry, now) in _FINAL
        return CancelStatus.NOT_CANCELLED if final else CancelStatus.CANCELLED

    def _progress(self, entry: LedgerEntry, now: datetime) -> int:
        """How far a protocol has come at its age."""
        reached = [step.status for step in self._payer.statuses if entry.at + step.after <= now]
        return reached[-1] if reached else ProtocolStatus.RECEIVED

    def _record(
        self, asked: Asked | None, verdict: str, now: datetime, handling: Handling = PLAIN
    ) -> LedgerEntry:
        """Note a request; a batch that is taken gets its protocol here."""
        entry = LedgerEntry(
            at=now,
            payer=self._payer.registro_ans,
            operation=asked.operation if asked else "",
            verdict=verdict,
            lote=asked.lote if asked else None,
            protocol=self._ledger.next_protocol() if verdict == TAKEN else None,
            guides=asked.guides if asked else (),
            answered=handling.answered,
        )
        self._ledger.record(entry)
        return entry

    def _context(self, asked: Asked, now: datetime) -> ReplyContext:
        return ReplyContext(
            payer=Payer(self._payer.registro_ans),
            provider=asked.party,
            version=self._payer.version,
            at=now,
            encoding=self._payer.encoding,
            hash_encoding=self._payer.hash_encoding,
        )


def _cards(asked: Asked) -> Iterator[Card]:
    holder = asked.xml.find(f".//{ans('guiasTISS')}")
    for number, guide in zip(asked.guides, holder if holder is not None else (), strict=False):
        yield Card(number, guide.findtext(f".//{ans('numeroCarteira')}", NO_CARD).strip())
