"""submit-claim: sends a claim when its payer takes claims, never twice for one job whose answer is known.

A send has two commits, for no transaction may stay open while a payer is asked: in the first the send begins
(`send_begin`), in the second its answer is written down (`send_finish`). Sends to one payer that begin or end
at the same moment share them. A third commit gives slots to the next that wait, when some are due, and one
more notes what a payer has cancelled before the send. Whoever dies in between leaves on record how far it
came; a send without an answer counts as one whose answer was lost.
"""

import asyncio
from collections.abc import Callable
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
from domain.submission import Accepted, Answered, OwnTrouble, SendResult
from domain.verdicts import Candidate, NoPlace
from persistence.repositories.guides import SoughtGuides
from persistence.repositories.idempotency import OperationTerms
from persistence.store import Transaction
from workers.config.idempotency import OperationName
from workers.jobs.claim_owner import in_own_name
from workers.jobs.once import LEASE_MARGIN, Once, Operation
from workers.jobs.rejections import rejected
from workers.jobs.send_finish import EndedSend, Told
from workers.jobs.send_group import AskedSend, Beginning, Begun, PayerDiffers
from workers.jobs.send_lanes import beginning_lanes, ending_lanes
from workers.jobs.services import Services
from workers.payers.places import PayerPlace, PlacesClosedError
from workers.policy.overrides import as_named
from workers.runtime.handler import JobHandler, JobInput, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Incident, Outcome, Postpone

OWN_TROUBLE_PAUSE = timedelta(seconds=20)
AT_ONCE = timedelta()
STOPPING = "not sent, for this worker stops: another sends it."
WRITING_PAUSE = timedelta(seconds=5)
WRITING = "the payer has answered, and that is being written down: the claim is not sent again."
UNWRITTEN = (
    "Rule: an answer is on record before anything else happens. See `answer_not_kept` in the log and ask the "
    "payer for the batch; resolving the incident sends it once more, and a payer that has it refuses that."
)
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
    limited = services.limits.applied_to(handler)
    sends = _Sends(services, _once(services, limited), limited.at_once)
    return replace(handler, stopping=services.places.close, finish=sends.finish)


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

    def __init__(self, services: Services, once: Once | None, slots: int) -> None:
        self._services = services
        self._once = once
        self._slots = slots
        self._beginning = beginning_lanes(services, self._limits, once)
        self._ending = ending_lanes(services, self._limits, once)
        self._waking = set[asyncio.Task[None]]()
        self._writing: dict[str, asyncio.Task[Told]] = {}

    async def finish(self) -> None:
        """Wait for answers that are still to be written, and for whom they wake."""
        await self._beginning.finished()
        await self._ending.finished()
        while self._waking:
            await asyncio.wait(self._waking)

    async def submit(self, job: Job, claim: Candidate) -> Outcome:
        """Send the claim, unless the worker stops before its turn, or has an answer about it in hand."""
        if claim.claim_id in self._writing:
            return Postpone(f"{JobType.SUBMIT_CLAIM}: {WRITING}", WRITING_PAUSE)
        try:
            return await self._submitted(job, claim)
        except PlacesClosedError:
            return Postpone(f"{JobType.SUBMIT_CLAIM}: {STOPPING}", AT_ONCE)

    async def _submitted(self, job: Job, claim: Candidate) -> Outcome:
        """Send the claim at one of its payer's places."""
        at_once = self._limits(claim.payer_id).at_once
        async with self._services.places.one(claim.payer_id, at_once, slots=self._slots) as place:
            begun: Begun | Outcome = await in_own_name(
                self._services, job, claim.claim_id, lambda: self._begun(job, claim, place)
            )
            if not isinstance(begun, Begun):
                return begun
            place.began()
            return await self._ended(job, begun)

    async def _ended(self, job: Job, begun: Begun) -> Outcome:
        """Send and finish."""
        began = await self._services.clock.now()
        result, seconds = await self._timed(begun, began)
        if isinstance(result, OwnTrouble):
            return await self._take_back(begun, result)
        sought, at = await self._sought(begun, result), await self._services.clock.now()
        ended = EndedSend(begun, job.process_instance_key, result, sought, began, at)
        try:
            told = await self._finished(ended, lambda told: _claim_sent(job, begun, told, seconds))
        except Exception as error:
            return await self._unwritten(ended, error)
        return told.outcome

    async def _unwritten(self, ended: EndedSend, error: Exception) -> Incident:
        """An answer that cannot be kept, whatever is tried: nobody sends again before a person has looked."""
        sent, answer, kind = ended.submission, ended.result, type(error).__name__
        said = f"took it as {answer.protocol_number}" if isinstance(answer, Accepted) else "answered"
        what = f"{JobType.SUBMIT_CLAIM}: the payer {said}, and that cannot be kept ({kind})."
        told = Incident(f"{what} {UNWRITTEN}")
        log.error("answer_not_kept", claim=sent.claim_id, attempt=sent.attempt, error=kind)
        await self._services.store.run_until_written(lambda tx: self._broken(tx, ended.begun, told, ended.at))
        return told

    async def _timed(self, begun: Begun, now: datetime) -> tuple[SendResult, float]:
        since = self._services.stopwatch()
        return await self._sent(begun, now), self._services.stopwatch() - since

    async def _begun(self, job: Job, claim: Candidate, place: PayerPlace) -> Begun | Outcome | OfAnother:
        """Begin at the payer that the job names; where the claim was handed in for another, at that one."""
        begun = await self._asked(job, claim, place)
        while isinstance(begun, NoPlace):
            await place.again()
            begun = await self._asked(job, claim, place)
        if not isinstance(begun, PayerDiffers):
            return begun
        log.warning("payer_differs", claim=claim.claim_id, handed_in_for=begun.payer_id)
        return await self._begun(job, replace(claim, payer_id=begun.payer_id), place)

    async def _asked(self, job: Job, claim: Candidate, place: PayerPlace) -> Beginning:
        waiting = replace(claim, place=place.wait())
        asked = AskedSend(job, waiting, await self._services.clock.now())
        return await self._beginning.add(claim.payer_id, asked)

    async def _sent(self, begun: Begun, now: datetime) -> SendResult:
        """Send at the claim's moment; a gateway that breaks has an answer that is lost, but has ended."""
        if begun.at and begun.at > now:
            await self._services.pause((begun.at - now).total_seconds())
        try:
            return await self._services.payer.send(begun.submission, now)
        except Exception as error:
            broken = error
            await self._services.store.run_until_written(lambda tx: self._broken(tx, begun, broken, now))
            raise

    async def _broken(self, tx: Transaction, begun: Begun, ended: object, now: datetime) -> None:
        await tx.payers.send_ended(begun.submission.claim_id, begun.submission.attempt)
        if self._once and begun.operation:
            await self._once.settle_all(tx, [(begun.operation, ended)], now)

    async def _sought(self, begun: Begun, result: Answered) -> SoughtGuides | None:
        guides = self._services.guides
        return await guides.prepare(begun.submission, result) if guides else None

    async def _finished(self, ended: EndedSend, sent: Callable[[Told], ClaimSent]) -> Told:
        """Write the answer down; who watches or waits is told even where the job stops waiting for it."""
        waking: list[asyncio.Task[None]] = []

        def tell(told: Told) -> None:
            self._services.observe(sent(told))
            if told.change:
                self._services.waker.tell(told.change)
            if told.change and told.change.wakes:
                waking.append(self._wake(told.change.after.payer_id, ended.at))

        told = await asyncio.shield(self._written(ended, tell))
        if waking:
            await asyncio.wait(waking)
        return told

    def _written(self, ended: EndedSend, tell: Callable[[Told], None]) -> asyncio.Task[Told]:
        """The answer as it is being written, which may outlast its job and the lease of its send."""
        sent = ended.submission
        writing = asyncio.create_task(self._ending.add(sent.payer_id, ended, tell))
        self._writing[sent.claim_id] = writing
        writing.add_done_callback(lambda _: self._after_writing(sent.claim_id, writing))
        return writing

    def _after_writing(self, claim_id: str, writing: asyncio.Task[Told]) -> None:
        self._writing.pop(claim_id, None)
        if not writing.cancelled():
            writing.exception()  # told to its job, if that still waits

    def _wake(self, payer_id: str, now: datetime) -> asyncio.Task[None]:
        waking = asyncio.create_task(self._woken(payer_id, now))
        self._waking.add(waking)
        waking.add_done_callback(self._waking.discard)
        return waking

    async def _woken(self, payer_id: str, now: datetime) -> None:
        """Whoever is not woken comes by its own timer: the answer stands, and its job goes on."""
        try:
            await self._services.waker.wake(payer_id, now)
        except Exception as error:
            log.warning("wake_up_failed", payer=payer_id, why=type(error).__name__)

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
