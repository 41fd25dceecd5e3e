"""The commits that sends share, payer by payer: one kind in which they begin, one in which they end.

Those of one lane stand in line here. Each needs the payer's row: whoever waited for that in the database
would take up a connection, and be put off after a moment.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

from bpmn.names import JobType
from domain.payer_status import PayerLimits
from persistence.database.group_commit import GroupCommit, Lanes, LeftOut
from workers.jobs.once import Once
from workers.jobs.send_begin import NothingBeginsError, begin_all
from workers.jobs.send_finish import EndedSend, EndingTerms, Told, finish_all
from workers.jobs.send_group import AskedSend, Beginning, BeginningTerms
from workers.jobs.services import Services
from workers.runtime.outcome import Postpone

LINGER_SECONDS = 0.005
HELD_PAUSES = (0.02, 0.1, 0.3)
"""Whoever holds a claim does so for the length of a transaction; so many seconds it is waited for."""
HELD_LONG = timedelta(seconds=5)
WRITE_AGAIN_SECONDS = 0.5
Limits = Callable[[str], PayerLimits]


def beginning_lanes(services: Services, limits: Limits, once: Once | None) -> Lanes[AskedSend, Beginning]:
    """Where sends begin; a job whose claim somebody holds comes again, and the others begin without it."""

    def lane(payer_id: str, on_idle: Callable[[], None]) -> GroupCommit[AskedSend, Beginning]:
        turn = asyncio.Lock()

        async def begin(asked: Sequence[AskedSend]) -> Sequence[Beginning | LeftOut]:
            terms = BeginningTerms(limits(payer_id), once, services.cipher, practice=services.practice)
            try:
                async with turn:
                    return await services.store.run(lambda tx: begin_all(tx, asked, terms))
            except NothingBeginsError as nothing:
                return nothing.told

        async def begin_alone(one: AskedSend) -> Beginning:
            for pause in HELD_PAUSES:
                [told] = await begin([one])
                if not isinstance(told, LeftOut):
                    return told
                await asyncio.sleep(pause)
            [told] = await begin([one])
            return _held(one) if isinstance(told, LeftOut) else told

        return GroupCommit(
            begin,
            key=lambda one: one.claim.claim_id,
            alone=begin_alone,
            linger=LINGER_SECONDS,
            on_idle=on_idle,
            watch=services.store.watch,
        )

    return Lanes(lane)


def ending_lanes(services: Services, limits: Limits, once: Once | None) -> Lanes[EndedSend, Told]:
    """Where answers are written; one must not get lost: alone it is tried again until it stands."""

    def lane(payer_id: str, on_idle: Callable[[], None]) -> GroupCommit[EndedSend, Told]:
        turn, store = asyncio.Lock(), services.store

        def terms() -> EndingTerms:
            return EndingTerms(limits(payer_id), once, services.cipher)

        async def finish(ended: Sequence[EndedSend]) -> Sequence[Told | LeftOut]:
            try:
                async with turn:
                    return await store.run(lambda tx: finish_all(tx, ended, terms()))
            except Exception:  # whatever it is, it is met again by whom it concerns, and told then
                return [LeftOut() for _ in ended]

        async def finish_alone(one: EndedSend) -> Told:
            while True:
                [told] = await store.run_until_written(lambda tx: finish_all(tx, [one], terms()), turn)
                if not isinstance(told, LeftOut):
                    return told
                await asyncio.sleep(WRITE_AGAIN_SECONDS)

        return GroupCommit(
            finish,
            key=lambda one: one.submission.claim_id,
            alone=finish_alone,
            linger=LINGER_SECONDS,
            on_idle=on_idle,
            watch=services.store.watch,
        )

    return Lanes(lane)


def _held(one: AskedSend) -> Postpone:
    held = f"{one.claim.claim_id} is held by somebody else who works on it in the database"
    return Postpone(f"{JobType.SUBMIT_CLAIM}: {held}: it is sent when it is free.", HELD_LONG)
