"""Whose a job is: the ids under which logs and traces name it."""

from dataclasses import dataclass

from bpmn.names import Variable
from domain.check_digits import holds_personal
from domain.claim import is_claim_id, is_reference
from persistence.encryption.cipher import Cipher
from workers.claims.claim_ids import outward_id
from workers.runtime.job import Job


@dataclass(frozen=True, slots=True)
class JobIds:
    """Whose job it is; the claim under the id by which it may be told of, if there is one."""

    claim: str | None
    instance: int
    job: int


def ids_of(job: Job, cipher: Cipher) -> JobIds:
    """The job's ids: a claim id that holds what can be a person's number goes by a keyed one."""
    return JobIds(told_claim(job.variables.get(Variable.CLAIM_ID), cipher), job.process_instance_key, job.key)


def told_claim(given: object, cipher: Cipher) -> str | None:
    """The id under which a claim may be told of; none for what is no id, or is a person's and has no key."""
    if not isinstance(given, str) or not (is_claim_id(given) or is_reference(given)):
        return None
    if not holds_personal(given):
        return given
    return outward_id(cipher, given) if is_claim_id(given) and not cipher.lack else None
