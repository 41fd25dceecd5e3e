"""retry-submission-backoff and analyze-retry: read the error, decide, give the timer its time."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

from bpmn.names import JobType, Variable
from domain.claim import is_claim_id
from domain.decision import Retry
from domain.errors import InvalidInput
from domain.inputs import VARIABLES
from domain.observations import DecisionMade, OperationRepeated
from domain.redaction import readable
from gateways.tiss.faults import is_own_sentence
from persistence.encryption.cipher import Cipher
from persistence.repositories.draft import DecisionDraft, Recorded
from persistence.repositories.free_texts import FreeText, TextSource, sealed_text
from workers.claims.claim_ids import outward_id
from workers.jobs.held_job import held_job
from workers.jobs.rejections import rejected
from workers.jobs.services import Services
from workers.policy.ruling import Question, Ruling, outcome_of, rule
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Outcome, from_json, to_json


def retry_submission_backoff(services: Services) -> JobHandler:
    """RN-BIL-004: 2 s to decide, 10 decisions at once."""
    return JobHandler(
        type=JobType.RETRY_SUBMISSION_BACKOFF,
        variables=(*VARIABLES, Variable.PAYER_ID),
        handle=_deciding(services, "RN-BIL-004"),
        lock=timedelta(seconds=30),
        time_limit=timedelta(seconds=2),
        at_once=10,
        finish=services.store.finished,
    )


def analyze_retry(services: Services) -> JobHandler:
    """RN-BIL-005: 10 s activation, 5 s to decide, 50 jobs active."""
    return JobHandler(
        type=JobType.ANALYZE_RETRY,
        variables=(*VARIABLES, Variable.PAYER_ID),
        handle=_deciding(services, "RN-BIL-005"),
        lock=timedelta(seconds=10),
        time_limit=timedelta(seconds=5),
        at_once=50,
        finish=services.store.finished,
    )


def _deciding(services: Services, profile: str) -> Callable[[Job], Awaitable[Outcome]]:
    async def handle(given: Job) -> Outcome:
        began, job = services.stopwatch(), _outward(given, services.cipher)
        now = await services.clock.now()
        try:
            ruling = rule(_question(job), services.policy().under(profile), now)
        except InvalidInput as refused:
            return await rejected(services, job, refused, services.policy().under(profile))
        draft = _draft(job, ruling, lambda: services.stopwatch() - began)

        def tell(recorded: Recorded) -> None:
            made = _made(job, ruling, services.stopwatch() - began)
            services.observe(made if recorded.is_new else OperationRepeated(job.type))

        worded = replace(draft, free_text=_free_text(services, job, draft))
        return from_json((await services.store.record(worded, tell)).result)

    return handle


def _outward(job: Job, cipher: Cipher | None) -> Job:
    """The job; an id that holds what can be a person's number goes by a keyed one from here on."""
    claim_id = job.variables.get(Variable.CLAIM_ID)
    if cipher is None or not isinstance(claim_id, str) or not is_claim_id(claim_id):
        return job
    if (outward := outward_id(cipher, claim_id)) == claim_id:
        return job
    return replace(job, variables={**job.variables, Variable.CLAIM_ID: outward})


def _question(job: Job) -> Question:
    payer = job.variables.get(Variable.PAYER_ID)
    return Question(job.variables, job.headers, payer if isinstance(payer, str) else None)


def _draft(job: Job, ruling: Ruling, elapsed: Callable[[], float]) -> DecisionDraft:
    return DecisionDraft(
        job_key=job.key,
        process_instance_key=job.process_instance_key,
        asked_count=ruling.asked_count,
        decision=ruling.decision,
        policy=ruling.policy,
        result=to_json(outcome_of(ruling)),
        elapsed_ms=lambda: round(elapsed() * 1000),
        job=held_job(job),
    )


def _made(job: Job, ruling: Ruling, seconds: float) -> DecisionMade:
    return DecisionMade(
        decision=ruling.decision,
        profile=ruling.policy.profile.name,
        shape=ruling.policy.profile.shape,
        payer_id=_question(job).payer_id,
        job_key=job.key,
        process_instance_key=job.process_instance_key,
        seconds=seconds,
        is_at_maximum=_is_at_maximum(ruling),
    )


def _is_at_maximum(ruling: Ruling) -> bool:
    decision, limits = ruling.decision, ruling.policy.limits
    return isinstance(decision, Retry) and decision.backoff.base_seconds == limits.cap_seconds


def _free_text(services: Services, job: Job, draft: DecisionDraft) -> FreeText | None:
    """The model's own words for the error, encrypted, where they are neither ours nor told."""
    text, told = job.variables.get(Variable.SUBMISSION_ERROR), draft.decision
    if services.cipher is None or not isinstance(text, str) or text == told.last_error:
        return None
    if is_own_sentence(text, told.error_code):
        return None
    now, words = told.decided_at, readable(text)
    return sealed_text(services.cipher, draft.claim_id, TextSource.MODEL, words, now=now) if words else None
