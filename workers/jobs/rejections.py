"""Input that a job rejects: an incident for a person, and its place in the audit trail."""

from bpmn.names import Variable
from domain.check_digits import holds_personal
from domain.errors import InvalidInput
from domain.observations import InputRejected
from domain.policy import Policy
from domain.redaction import redact
from persistence.audit.rejections import Rejection
from workers.jobs.services import Services
from workers.policy.overrides import as_named
from workers.runtime.job import Job
from workers.runtime.outcome import Incident


async def rejected(services: Services, job: Job, refused: InvalidInput, policy: Policy) -> Incident:
    """Keep what was rejected, once per job and rule; the incident says how to mend it."""
    named = as_named(policy, job.headers)
    rejection = Rejection(
        job_key=job.key,
        process_instance_key=job.process_instance_key,
        claim_id=claim_of(job, policy),
        profile=named.profile.name,
        rule=refused.rule,
        input=redact(refused.variable),
        at=await services.clock.now(),
    )
    await services.store.run(lambda tx: tx.rejections.keep(rejection))
    services.observe(
        InputRejected(
            rejection.profile, rejection.rule, rejection.claim_id, job.key, job.process_instance_key
        )
    )
    return Incident(str(refused))


def claim_of(job: Job, policy: Policy) -> str | None:
    """The claim, if the process names one in the form that its model, or else the policy, asks for.

    One whose id holds a number that can be a person's is not named.
    """
    given = job.variables.get(Variable.CLAIM_ID)
    form = as_named(policy, job.headers).claim_id_form
    return given if isinstance(given, str) and form.fits(given) and not holds_personal(given) else None
