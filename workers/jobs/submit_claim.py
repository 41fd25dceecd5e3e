"""submit-claim: sends a claim when its payer takes claims, never twice for one job whose answer is known.

A send has two commits, for no transaction may stay open while a payer is asked: in the first the send begins
(`send_begin`), in the second its answer is written down (`send_finish`). Sends to one payer that begin or end
at the same moment share them. A third commit gives slots to the next that wait, when some are due, and one
more notes what a payer has cancelled before the send. Whoever dies in between leaves on record how far it
came; a send without an answer counts as one whose answer was lost.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import structlog

from bpmn.names import ErrorCode, JobType, Variable
from domain.errors import InvalidInput
from domain.inputs import read_claim_id, read_deadline, read_payer_id
from domain.observations import ClaimSent
from domain.payer_status import PayerLimits
from domain.permission import OfAnother
from domain.policy import Policy
from domain.submission import Answered, OwnTrouble, SendResult
from domain.verdicts import Candidate
from persistence.database.group_commit import GroupCommit, Lanes, is_of_the_work
from persistence.database.trouble import is_locked_out
from persistence.repositories.idempotency import OperationTerms
from persistence.store import Transaction
from workers.config.idempotency import OperationName
from workers.jobs.claim_owner import in_own_name
from workers.jobs.idempotent import LEASE_MARGIN, Operation
from workers.jobs.once import Once
from workers.jobs.rejections import rejected
from workers.jobs.send_begin import (
    AskedSend,
    Beginning,
    BeginningTerms,
    Begun,
    NothingBeginsError,
    PayerDiffers,
    begin_all,
)
from workers.jobs.send_finish import EndedSend, EndingTerms, Told, finish_all
from workers.jobs.services import Services
from workers.policy.overrides import as_named
from workers.runtime.handler import JobHandler, JobInput, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Outcome, Postpone

OWN_TROUBLE_PAUSE = timedelta(seconds=20)
LINGER_SECONDS = 0.005
log = structlog.get_logger(__name__)


class Input(JobInput):
    """What the job reads from the process: references only; what they must be is a rule's part."""

    claim_id: Any = None
    payer_id: Any = None
    deadline: Any = None


SEND_ONCE = Operation(
    OperationName.SUBMIT_CLAIM,
    inputs=(Variable.CLAIM_ID, Variable.PAYER_ID, Variable.RETRY_COUNT, Variable.REVIEW_ROUND),
    undone=frozenset({ErrorCode.PAYER_UNAVAILABLE}),
)


def submit_claim(services: Services) -> JobHandler:
    """The handler; its lock outlives the slowest payer."""

    async def handle(job: Job, given: Input) -> Outcome:
        policy = services.policy()
        try:
            claim = await _candidate(services, given, as_named(policy, job.headers))
        except InvalidInput as refused:
            return await rejected(services, job, refused, policy)
        return await sends.submit(job, claim)

    handler = JobHandler(
        type=JobType.SUBMIT_CLAIM,
        variables=tuple(dict.fromkeys((*Input.names(), *SEND_ONCE.inputs))),
        handle=typed(Input, handle),
        lock=timedelta(minutes=5),
        time_limit=timedelta(minutes=4),
        never_cut_short=True,
    )
    sends = _Sends(services, _once(services, services.limits.applied_to(handler)))
    return handler


def _once(services: Services, handler: JobHandler) -> Once | None:
    """Without a cipher no operation's result is kept."""
    if services.cipher is None:
        return None
    lease, ttl = handler.time_limit + LEASE_MARGIN, services.idempotency.ttl(SEND_ONCE.name)
    terms = OperationTerms(lease, SEND_ONCE.max_retries, ttl)
    return Once(SEND_ONCE, services.cipher, terms, services.observe)


async def _candidate(services: Services, given: Input, policy: Policy) -> Candidate:
    claim_id, deadline = read_claim_id(given.claim_id, policy).value, read_deadline(given.deadline, policy)
    known = None if given.payer_id else await services.store.look(lambda tx: tx.claims.find(claim_id))
    return Candidate(claim_id, known.payer_id if known else read_payer_id(given.payer_id), deadline)


class _Sends:
    """The sends of one worker; those to one payer begin and end together where they can."""

    def __init__(self, services: Services, once: Once | None) -> None:
        self._services = services
        self._once = once
        self._beginning = Lanes[AskedSend, Beginning](self._beginning_lane)
        self._ending = Lanes[EndedSend, Told](self._ending_lane)

    async def submit(self, job: Job, claim: Candidate) -> Outcome:
        """Send the claim at one of its payer's places."""
        at_once = self._limits(claim.payer_id).at_once
        async with self._services.places.one(claim.payer_id, at_once):
            return await self._submitted(job, claim)

    async def _submitted(self, job: Job, claim: Candidate) -> Outcome:
        """Begin, send, finish."""
        begun: Begun | Outcome = await in_own_name(
            self._services, job, claim.claim_id, lambda: self._begun(job, claim)
        )
        if not isinstance(begun, Begun):
            return begun
        began = await self._services.clock.now()
        result, seconds = await self._timed(begun, began)
        if isinstance(result, OwnTrouble):
            return await self._take_back(begun, result)
        told = await self._finished(job, begun, result, began)
        self._services.observe(_claim_sent(job, begun, told, seconds))
        return told.outcome

    async def _timed(self, begun: Begun, now: datetime) -> tuple[SendResult, float]:
        since = self._services.stopwatch()
        return await self._sent(begun, now), self._services.stopwatch() - since

    async def _begun(self, job: Job, claim: Candidate) -> Begun | Outcome | OfAnother:
        """Begin at the payer that the job names; where the claim was handed in for another, at that one."""
        asked = AskedSend(job, claim, await self._services.clock.now())
        begun = await self._beginning.add(claim.payer_id, asked)
        if not isinstance(begun, PayerDiffers):
            return begun
        log.warning("payer_differs", claim=claim.claim_id, handed_in_for=begun.payer_id)
        return await self._begun(job, replace(claim, payer_id=begun.payer_id))

    async def _sent(self, begun: Begun, now: datetime) -> SendResult:
        """Send at the claim's moment; a gateway that breaks has an answer that is lost, but has ended."""
        if begun.at and begun.at > now:
            await self._services.pause((begun.at - now).total_seconds())
        try:
            return await self._services.payer.send(begun.submission, now)
        except Exception as error:
            broken = error
            await self._services.store.run(lambda tx: self._broken(tx, begun, broken, now))
            raise

    async def _broken(self, tx: Transaction, begun: Begun, error: Exception, now: datetime) -> None:
        await tx.payers.send_ended(begun.submission.claim_id, begun.submission.attempt)
        if self._once and begun.operation:
            await self._once.settle_all(tx, [(begun.operation, error)], now)

    async def _finished(self, job: Job, begun: Begun, result: Answered, began: datetime) -> Told:
        services, sent = self._services, begun.submission
        sought = await services.guides.prepare(sent, result) if services.guides else None
        at = await services.clock.now()
        ended = EndedSend(begun, job.process_instance_key, result, sought, began, at)
        told = await self._ending.add(sent.payer_id, ended)
        if told.change:
            await services.waker.after(told.change, at)
        return told

    async def _take_back(self, begun: Begun, trouble: OwnTrouble) -> Postpone:
        """Nothing left, through no fault of claim and payer: as if the job had not been tried."""
        sent, once = begun.submission, self._once
        told = Postpone(f"{JobType.SUBMIT_CLAIM}: not sent: {trouble.error}", OWN_TROUBLE_PAUSE)
        now = await self._services.clock.now()

        async def take_back(tx: Transaction) -> None:
            await tx.attempts.take_back(sent.claim_id, sent.attempt)
            await tx.payers.send_ended(sent.claim_id, sent.attempt)
            if once and begun.operation:
                await once.settle_all(tx, [(begun.operation, told)], now)

        log.error("not_sent_for_own_trouble", claim=sent.claim_id, code=trouble.code, why=trouble.error)
        await self._services.store.run_until_written(take_back)
        return told

    def _beginning_lane(
        self, payer_id: str, on_idle: Callable[[], None]
    ) -> GroupCommit[AskedSend, Beginning]:
        async def begin(asked: Sequence[AskedSend]) -> Sequence[Beginning]:
            services = self._services
            terms = BeginningTerms(
                self._limits(payer_id), self._once, services.cipher, practice=services.practice
            )
            try:
                return await services.store.run(lambda tx: begin_all(tx, asked, terms))
            except NothingBeginsError as nothing:
                return nothing.told

        return GroupCommit(
            begin,
            key=lambda one: one.claim.claim_id,
            parts=_may_be_ones_fault,
            linger=LINGER_SECONDS,
            on_idle=on_idle,
            watch=self._services.store.watch,
        )

    def _ending_lane(self, payer_id: str, on_idle: Callable[[], None]) -> GroupCommit[EndedSend, Told]:
        """An answer must not get lost: alone it is written again and again until it stands."""

        async def finish(ended: Sequence[EndedSend]) -> Sequence[Told]:
            store, terms = self._services.store, EndingTerms(self._limits(payer_id), self._once)
            run = store.run if len(ended) > 1 else store.run_until_written
            return await run(lambda tx: finish_all(tx, ended, terms))

        return GroupCommit(
            finish,
            key=lambda one: one.submission.claim_id,
            parts=lambda _: True,
            linger=LINGER_SECONDS,
            on_idle=on_idle,
            watch=self._services.store.watch,
        )

    def _limits(self, payer_id: str) -> PayerLimits:
        """The payer's limits, with the policy's reserve for a person before a deadline."""
        reserve = timedelta(seconds=self._services.policy().limits.reserve_seconds)
        return replace(self._services.payer_limits.of(payer_id), reserve=reserve)


def _claim_sent(job: Job, begun: Begun, told: Told, seconds: float) -> ClaimSent:
    sent = begun.submission
    return ClaimSent(
        claim_id=sent.claim_id,
        payer_id=sent.payer_id,
        attempt=sent.attempt,
        settled=told.settled,
        seconds=seconds,
        job_key=job.key,
        process_instance_key=job.process_instance_key,
    )


def _may_be_ones_fault(error: Exception) -> bool:
    """Whether a work may be to blame, or a row that somebody holds: the others must not wait for it."""
    return is_of_the_work(error) or is_locked_out(error)
