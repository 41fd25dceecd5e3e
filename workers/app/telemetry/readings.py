"""Reads what gauges stand at from the database and from the order of mail."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from bpmn.names import JobType
from domain.backoff import window
from domain.breaker import Breaker
from domain.claim_state import ENDS, ClaimState
from domain.deadline import seconds_left
from domain.durations import ONE_SECOND, whole_second
from domain.kpis.definitions import SUCCESS_AFTER_RETRY
from domain.kpis.periods import Span
from domain.kpis.tally import Counted
from domain.mail.fairness import TenantFairnessMetrics
from domain.mail.names import DEAD_LETTER_QUEUE, QUEUE
from domain.mail.success import success_by_attempt
from domain.payer_status import PayerState
from domain.ports import Clock
from domain.readings import Reading
from domain.uniformity import Draw, deviation
from persistence.repositories.figures import PayerFigures, ScheduledRetry
from persistence.repositories.policies import KeptSchedule
from persistence.repositories.upkeep_runs import UpkeepTask
from persistence.store import Store
from workers.app.telemetry.business import KnownNames
from workers.app.telemetry.label_names import NAMES_AT_MOST, as_label, type_label
from workers.app.telemetry.table import AGE_SECONDS, OTHER
from workers.mail.lane_order import FairOrder
from workers.payers.limits import LimitsByPayer

LATELY = timedelta(hours=24)
DRAWS_AT_MOST = 5_000
INCIDENTS = "reenvio_incidents"
HELD_STATES = tuple(state for state in PayerState if state is not PayerState.CLOSED)
OPEN_STATES = tuple(state for state in ClaimState if state not in ENDS)
Together = Callable[[float, float], float]


def plus(one: float, other: float) -> float:
    """Both together."""
    return one + other


@dataclass(frozen=True, slots=True)
class DatabaseReadings:
    """Gauges that the database knows; each question is asked by itself, at the clock's time."""

    store: Store
    clock: Clock
    limits: LimitsByPayer
    names: KnownNames

    async def open_claims(self) -> Sequence[Reading]:
        """Claims in the states that are left again."""
        return await self._claims(OPEN_STATES)

    async def ended_claims(self) -> Sequence[Reading]:
        """Claims in the other states: there are ever more of them."""
        return await self._claims(tuple(ENDS))

    async def incidents(self) -> Sequence[Reading]:
        """Claims that stand on an incident."""
        found = await self.store.look(lambda tx: tx.incidents.by_type())
        none = (Reading(INCIDENTS, 0, {"type": job_type.value}) for job_type in JobType)
        standing = (Reading(INCIDENTS, number, {"type": type_label(of)}) for of, number in found.items())
        return list(_merged(chain(none, standing), plus))

    async def payers(self) -> Sequence[Reading]:
        """Breakers, places and who waits."""
        now = await self.clock.now()
        figures = await self.store.look(lambda tx: tx.figures.payers(now))
        states = (self._states(one) for one in figures)
        counts = (self._counts(one, now) for one in figures)
        ages = (self._ages(one, now) for one in figures)
        return [
            *_by_state(figures),
            *_merged(chain.from_iterable(states), max),
            *_merged(chain.from_iterable(counts), plus),
            *_merged(chain.from_iterable(ages), max),
        ]

    async def mail(self) -> Sequence[Reading]:
        """What is still to be sent."""
        now = await self.clock.now()
        pending = await self.store.look(lambda tx: tx.mails.pending(now))
        states = {"wait": pending.wait, "active": pending.active, "delayed": pending.delayed}
        return [
            Reading("reenvio_mails_waiting", sum(states.values())),
            Reading("reenvio_mail_oldest_seconds", _age(pending.oldest, now)),
            *(_in_queue(QUEUE, state, number) for state, number in states.items()),
        ]

    async def letters(self) -> Sequence[Reading]:
        """Dead letters: how many, how old, whose."""
        now = await self.clock.now()
        bounds = [now - timedelta(seconds=age) for age in AGE_SECONDS]
        async with self.store.reading() as tx:
            ages = await tx.figures.letter_ages(now, bounds)
            companies = await tx.dead_letters.by_company(limit=NAMES_AT_MOST)
        rest = ages.number - sum(number for _company, number in companies)
        labelled = (*((as_label(company), number) for company, number in companies), (OTHER, rest))
        lying = (Reading("reenvio_dead_letters", number, {"company": label}) for label, number in labelled)
        buckets = zip((*map(str, AGE_SECONDS), "+Inf"), (*ages.within, ages.number), strict=True)
        return [
            Reading("dlq_size", ages.number),
            _in_queue(DEAD_LETTER_QUEUE, "failed", ages.number),
            Reading("dlq_age_seconds_count", ages.number),
            Reading("dlq_age_seconds_sum", ages.seconds),
            *(Reading("dlq_age_seconds_bucket", number, {"le": bound}) for bound, number in buckets),
            *_merged(lying, plus),
        ]

    async def outbox(self) -> Sequence[Reading]:
        """Events that wait for the relay; their age by the database's clock, as the relay has it."""
        async with self.store.reading() as tx:
            lag, now = await tx.outbox.lag(), await tx.time()
        return [
            Reading("reenvio_outbox_waiting", lag.waiting),
            Reading("reenvio_outbox_lag_seconds", _age(lag.oldest, now)),
        ]

    async def upkeep(self) -> Sequence[Reading]:
        """How long ago the watch last looked, and KPIs were last counted; at first, since they should be."""
        now = await self.clock.now()
        async with self.store.reading() as tx:
            done, counted = await tx.upkeep_runs.last(), await tx.kpi_snapshots.last_taken_at(now=now)
        looked = done.get(UpkeepTask.STANDING)
        moments = [moment for moment in (done.get(UpkeepTask.KPIS), counted) if moment]
        ages = {
            "reenvio_standing_look_age_seconds": looked,
            "reenvio_kpi_age_seconds": max(moments, default=None),
        }
        return [Reading(metric, _age(moment, now)) for metric, moment in ages.items() if moment]

    async def success_rates(self) -> Sequence[Reading]:
        """Which share succeeded of late: of claims by the KPI's own rule, of mail by attempt."""
        now = await self.clock.now()
        async with self.store.reading() as tx:
            tally = await tx.kpis.tally(Span(now - LATELY, now))
            mails = await tx.figures.mails_since(now - LATELY)
        by_attempt = [
            Reading("retry_success_rate", share, {"rule": "03", "attempt": str(attempt)})
            for attempt, share in success_by_attempt(mails).items()
        ]
        share = SUCCESS_AFTER_RETRY.measure(Counted(tally)).value
        if share is None:
            return by_attempt
        return [Reading("retry_success_rate", float(share), {"rule": "RN-BIL-005"}), *by_attempt]

    async def jitter(self) -> Sequence[Reading]:
        """How evenly waits were spread of late, by rule."""
        since = await self.clock.now() - LATELY
        async with self.store.reading() as tx:
            retries = await tx.figures.scheduled_retries(since, DRAWS_AT_MOST)
            schedules = await tx.policies.schedules(retry.policy_version for retry in retries)
        draws: dict[str, list[Draw]] = {}
        for retry in retries:
            schedule = _schedule_of(retry, schedules[retry.policy_version])
            if schedule and _is_free_of_its_deadline(retry, schedule):
                draws.setdefault(schedule.shape.rule, []).append(_draw(retry, schedule))
        found = {rule: deviation(drawn) for rule, drawn in draws.items()}
        return [
            Reading("reenvio_jitter_deviation_ratio", by, {"rule": rule})
            for rule, by in found.items()
            if by is not None
        ]

    async def _claims(self, states: Sequence[ClaimState]) -> Sequence[Reading]:
        counted = await self.store.look(lambda tx: tx.figures.claims_in(states))
        return [Reading("reenvio_claims", number, {"state": state}) for state, number in counted.items()]

    def _states(self, one: PayerFigures) -> Iterable[Reading]:
        payer = self.names.payers.known(one.status.payer_id)
        for state in PayerState:
            labels = {"payer": payer, "state": state.value}
            yield Reading("reenvio_payer_state", float(one.status.state is state), labels)

    def _counts(self, one: PayerFigures, now: datetime) -> Iterable[Reading]:
        payer, limits = self.names.payers.known(one.status.payer_id), self.limits.of(one.status.payer_id)
        places = Breaker(one.status, limits, now).places
        yield Reading("reenvio_payer_places", places, {"payer": payer})
        yield Reading("reenvio_payer_places_taken", one.under_way, {"payer": payer})
        yield Reading("reenvio_payer_waiting", one.waiting, {"payer": payer})

    def _ages(self, one: PayerFigures, now: datetime) -> Iterable[Reading]:
        """How long it has been in its state, and since when, through all its trials, it takes no claims."""
        status, payer = one.status, self.names.payers.known(one.status.payer_id)
        yield Reading("reenvio_payer_state_seconds", _age(status.changed_at, now), {"payer": payer})
        since = status.opened_at or status.changed_at
        for state in HELD_STATES:
            held = _age(since, now) if status.state is state else 0.0
            yield Reading("reenvio_payer_held_seconds", held, {"payer": payer, "state": state.value})


def _in_queue(queue: str, state: str, number: int) -> Reading:
    """Under the documents' name of the queue, and the runbook's of the state."""
    return Reading("reenvio_mail_queue_size", number, {"queue": queue, "state": state})


def turn_readings(order: FairOrder, names: KnownNames) -> Sequence[Reading]:
    """Where the round robin stands, and how long a company may fairly wait in it."""
    fair = Reading("reenvio_mail_fair_rounds", order.fair_rounds())
    return [*_tenants(order.metrics(), names), fair]


def _tenants(tenants: Sequence[TenantFairnessMetrics], names: KnownNames) -> Sequence[Reading]:
    """By company; of those without a label, the one that is worst off."""
    labelled = [({"company": names.companies.of(one.company_id)}, one) for one in tenants]
    urgent = (Reading("tenant_current_priority", one.current_priority, labels) for labels, one in labelled)
    batches = (
        Reading("tenant_consecutive_batch", one.consecutive_batch_count, labels) for labels, one in labelled
    )
    rounds = (
        Reading("tenant_rounds_without_processing", one.rounds_without_processing, labels)
        for labels, one in labelled
    )
    return [*_merged(urgent, min), *_merged(batches, max), *_merged(rounds, max)]


def _merged(readings: Iterable[Reading], together: Together) -> Iterable[Reading]:
    """One reading for each set of labels: those without a name of their own share one."""
    values: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for one in readings:
        key = one.metric, tuple(one.labels.items())
        values[key] = together(values[key], one.value) if key in values else one.value
    return [Reading(metric, value, dict(labels)) for (metric, labels), value in values.items()]


def _by_state(figures: Iterable[PayerFigures]) -> Iterable[Reading]:
    counted = Counter(one.status.state for one in figures)
    return (Reading("reenvio_payers", counted[state], {"state": state.value}) for state in PayerState)


def _age(since: datetime | None, now: datetime) -> float:
    return max((now - since).total_seconds(), 0.0) if since else 0.0


def _schedule_of(retry: ScheduledRetry, schedules: Sequence[KeptSchedule]) -> KeptSchedule | None:
    attempt = retry.retry_count + 1
    return next((one for one in schedules if one.has_said(retry.reason, attempt)), None)


def _is_free_of_its_deadline(retry: ScheduledRetry, schedule: KeptSchedule) -> bool:
    """Whether no draw, however long, would have been shortened: else short ones alone would be counted."""
    if retry.deadline is None:
        return True
    start, limits = whole_second(retry.decided_at), schedule.limits
    _low, high = window(limits, retry.retry_count)
    return high <= seconds_left(limits, start=start, deadline=retry.deadline)


def _draw(retry: ScheduledRetry, schedule: KeptSchedule) -> Draw:
    seconds = (retry.next_retry_time - whole_second(retry.decided_at)) // ONE_SECOND
    return Draw(seconds, *window(schedule.limits, retry.retry_count))
