"""One simulated payer on its good and bad days: follows the scenario, request by request."""

import random
from collections import deque
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from math import ceil
from typing import assert_never

from gateways.practice.simulator import replies
from gateways.practice.simulator.answer import Answer
from gateways.practice.simulator.damage import HTML, nonsense
from gateways.practice.simulator.ledger import Ledger, LedgerEntry
from gateways.practice.simulator.replies import GlosaOn
from gateways.practice.simulator.request import lote_in, read_request
from gateways.practice.simulator.scenario import (
    Accept,
    Behaviour,
    Drop,
    FaultAnswer,
    Garbage,
    Http,
    LoseAnswer,
    PayerScenario,
    Refuse,
    Rule,
    SoapFaultAnswer,
)
from gateways.practice.simulator.service import Handling, PayerService
from gateways.tiss.names import FaultWord
from gateways.tiss.validation import Schemas

Blind = FaultAnswer | SoapFaultAnswer | Drop | Http
_MINUTE = timedelta(minutes=1)
_WSDL = b'<definitions xmlns="http://schemas.xmlsoap.org/wsdl/"/>'


@dataclass(frozen=True, slots=True)
class SimulatorParts:
    """What all payers of one simulator share."""

    ledger: Ledger
    schemas: Schemas
    rng: random.Random
    begun: datetime


class Traffic:
    """Counts the requests of the last minute on the simulator's clock."""

    def __init__(self, payer: PayerScenario) -> None:
        self._payer = payer
        self._recent: deque[datetime] = deque()

    def closed_for(self, now: datetime) -> int:
        """Seconds until the posting window opens; 0 when it is open."""
        hours = self._payer.hours
        if hours is None or hours.covers(now):
            return 0
        return ceil((hours.next_opening(now) - now).total_seconds())

    def busy_for(self, now: datetime) -> int:
        """Seconds until the next request is welcome; 0 when this one is, and it is counted."""
        limit = self._payer.requests_per_minute
        while self._recent and self._recent[0] <= now - _MINUTE:
            self._recent.popleft()
        if limit is not None and len(self._recent) >= limit:
            return max(1, ceil((self._recent[0] + _MINUTE - now).total_seconds()))
        self._recent.append(now)
        return 0


class SimulatedPayer:
    """One payer: what it does to each request, by its scenario."""

    def __init__(self, payer: PayerScenario, parts: SimulatorParts) -> None:
        self._payer = payer
        self._parts = parts
        self._service = PayerService(payer, parts.ledger, parts.schemas)
        self._traffic = Traffic(payer)
        self._requests = 0

    def answer(self, body: bytes, now: datetime) -> Answer:
        """What goes back for a request that arrives at this moment."""
        self._requests += 1
        lote = lote_in(body)
        if wait := self._traffic.closed_for(now):
            return self._turn_away(Http(status=503, retry_after=wait), lote, now)
        if wait := self._traffic.busy_for(now):
            return self._turn_away(Http(status=429, retry_after=wait, body="empty"), lote, now)
        behaviour = self._behaviour(lote, now)
        latency = self._parts.rng.uniform(*self._payer.latency)
        return replace(self._follow(behaviour, body, now), delay=behaviour.delay + latency)

    def describe(self, now: datetime) -> Answer:
        """What a probe for the WSDL gets: the outage, if there is one; it is no request and not counted."""
        for outage in self._payer.outages:
            if outage.covers(now, self._parts.begun) and isinstance(outage.then, Blind):
                return self._unseen(outage.then)
        return Answer(200, _WSDL)

    def _behaviour(self, lote: str | None, now: datetime) -> Behaviour:
        for outage in self._payer.outages:
            if outage.covers(now, self._parts.begun):
                return outage.then
        arrival = self._parts.ledger.arrivals(self._payer.registro_ans, lote or "") + 1
        for rule in self._payer.rules:
            if self._applies(rule, lote or "", arrival, now):
                return rule.then
        return Accept()

    def _applies(self, rule: Rule, lote: str, arrival: int, now: datetime) -> bool:
        return (
            fnmatchcase(lote, rule.lote)
            and (not rule.arrivals or arrival in rule.arrivals)
            and (rule.every is None or self._requests % rule.every == 0)
            and (rule.window is None or rule.window.covers(now, self._parts.begun))
            and (rule.chance == 1.0 or self._parts.rng.random() < rule.chance)
        )

    def _follow(self, behaviour: Behaviour, body: bytes, now: datetime) -> Answer:
        match behaviour:
            case Accept(glosa=None):
                return self._service.handle(body, now, Handling())
            case Accept(glosa=level, code=code):
                return self._service.handle(body, now, Handling(GlosaOn(level or "protocol", code)))
            case LoseAnswer(how=how):
                return replace(self._service.handle(body, now, Handling(answered=False)), loss=how)
            case Garbage(kind=kind):
                return self._garbage(kind, body, now)
            case Refuse(code=code):
                return self._refuse(code, body, now)
            case FaultAnswer() | SoapFaultAnswer() | Drop() | Http():
                return self._turn_away(behaviour, lote_in(body), now)
            case _:
                assert_never(behaviour)

    def _garbage(self, kind: str, body: bytes, now: datetime) -> Answer:
        accented = GlosaOn("protocol", "1801") if kind == "wrong-encoding" else None
        sound = self._service.handle(body, now, Handling(accented, answered=False))
        return replace(sound, body=nonsense(kind, sound.body, self._parts.rng), is_http=kind != "not-http")

    def _refuse(self, code: str, body: bytes, now: datetime) -> Answer:
        asked = read_request(body)
        if asked is None:
            return self._turn_away(FaultAnswer(word=FaultWord.WRONG_SCHEMA), None, now)
        return self._service.refuse(asked, code, now)

    def _turn_away(self, behaviour: Blind, lote: str | None, now: datetime) -> Answer:
        """Answer without having looked: nothing is taken."""
        payer, operation = self._payer.registro_ans, "loteGuiasWS" if lote else ""
        answered = not isinstance(behaviour, Drop)
        self._parts.ledger.record(
            LedgerEntry(now, payer, operation, _verdict(behaviour), lote, answered=answered)
        )
        return self._unseen(behaviour)

    def _unseen(self, behaviour: Blind) -> Answer:
        encoding = self._payer.encoding
        match behaviour:
            case FaultAnswer(word=word, status=status, bare=bare):
                return Answer(status, replies.fault(word, bare=bare, encoding=encoding))
            case SoapFaultAnswer(side=side, status=status):
                return Answer(status, replies.soap_fault(side, encoding=encoding))
            case Drop(how=how):
                return Answer(200, b"", loss=how)
            case Http(status=status, retry_after=wait, body=kind):
                return Answer(status, HTML if kind == "html" else b"", retry_after=wait)


def _verdict(behaviour: Blind) -> str:
    match behaviour:
        case Http(status=status):
            return f"http:{status}"
        case FaultAnswer(word=word):
            return f"fault:{word}"
        case _:
            return behaviour.do
