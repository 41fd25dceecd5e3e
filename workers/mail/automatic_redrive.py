"""Dead letters brought back without being asked for, a cool-down after they failed: one step of it.

The process that asks for the steps holds the waits between them, and where it stands.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from domain.mail.redrive import FailsAgain, NextWave, RedriveTerms, Wave, WaveUnderWay, after_wave, next_wave
from persistence.repositories.dead_letters import WantedLetters
from persistence.store import Store
from workers.mail.queueing import MailQueue
from workers.mail.redrive import bring_back, unopened

CoolDowns = Mapping[str, timedelta]
KEYS = "`reenvio keys list` shows which key is missing"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SentWave:
    """A wave of one code, and when it was sent off; what became of it is asked for."""

    code: str
    number: int
    size: int
    since: datetime


@dataclass(frozen=True, slots=True)
class AutomaticRedrive:
    """Takes the codes one after the other, in their order; each begins with a few."""

    store: Store
    queue: MailQueue
    cool_downs: CoolDowns
    terms: RedriveTerms

    async def step(self, sent: SentWave | None, now: datetime) -> SentWave | None:
        """Judge the wave that was sent last and send the next; None when there is nothing more to do.

        Nothing begins while letters are on their way by anybody's order.
        """
        if sent is not None:
            return await self._follow(sent, now)
        under_way = await self.store.look(lambda tx: tx.dead_letters.count(WantedLetters(on_its_way=True)))
        return None if under_way else await self._begin(sorted(self.cool_downs), now)

    async def _begin(self, codes: Sequence[str], now: datetime) -> SentWave | None:
        for code in codes:
            due = await self._due(code, now)
            first = next_wave(1, len(due), self.terms)
            if isinstance(first, NextWave) and (begun := await self._send(code, first, due, now)):
                return begun
        return None

    async def _follow(self, sent: SentWave, now: datetime) -> SentWave | None:
        wave, due = await self._seen(sent), await self._due(sent.code, now)
        step = after_wave(wave, len(due), self.terms)
        if isinstance(step, WaveUnderWay):
            return sent
        if isinstance(step, NextWave) and (following := await self._send(sent.code, step, due, now)):
            return following
        if isinstance(step, FailsAgain):
            log.warning("automatic_redrive_stopped", code=sent.code, failed=wave.failed, of=wave.size)
        return await self._begin([code for code in sorted(self.cool_downs) if code > sent.code], now)

    async def _send(self, code: str, step: NextWave, due: Sequence[str], now: datetime) -> SentWave | None:
        brought = await bring_back(self.store, self.queue, due[: step.size], now)
        log.info("automatic_redrive", code=code, wave=step.number, letters=len(brought))
        return SentWave(code, step.number, len(brought), now) if brought else None

    async def _due(self, code: str, now: datetime) -> Sequence[str]:
        cool_down = self.cool_downs.get(code)
        if cool_down is None:  # it was taken out of the settings
            return []
        wanted = WantedLetters(code=code)
        due = await self.store.look(
            lambda tx: tx.dead_letters.to_redrive(wanted, failed_before=now - cool_down)
        )
        closed = await unopened(self.store, self.queue.cipher, due)
        if closed:
            log.warning("dead_letters_unopened", code=code, letters=len(closed), advice=KEYS)
        return [letter for letter in due if letter not in closed]

    async def _seen(self, sent: SentWave) -> Wave:
        """What became of a wave, from the letters alone: who arrived is not among them any more."""
        async with self.store.reading() as tx:
            wanted = WantedLetters(code=sent.code, on_its_way=True)
            under_way = min(await tx.dead_letters.count(wanted), sent.size)
            failed = min(await tx.dead_letters.failed_again(sent.since), sent.size - under_way)
        return Wave(sent.number, sent.size, sent=sent.size - under_way - failed, failed=failed)
