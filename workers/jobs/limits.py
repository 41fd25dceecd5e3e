"""How much a handler may take on: as HANDLER_LIMITS says, and the time that the slowest payer needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from bpmn.names import JobType
from gateways.tiss.settings import PayerSettings
from workers.config.settings import HandlerLimits, SettingsError
from workers.payers.channels import PayerChannel
from workers.runtime.handler import JobHandler

OWN_WORK = timedelta(seconds=15)  # a place at the payer, and the database before and after the send
LOCK_MARGIN = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Slowest:
    """The payer that may take longest for one send."""

    payer_id: str
    queue: float
    total: float
    calls: int

    @property
    def wait(self) -> timedelta:
        """For a free connection and for the answer, at every call of one send."""
        return timedelta(seconds=self.calls * (self.queue + self.total))


@dataclass(frozen=True, slots=True)
class JobLimits:
    """The limits of all job types."""

    configured: Mapping[JobType, HandlerLimits] = field(default_factory=dict)
    slowest: Slowest | None = None

    def applied_to(self, handler: JobHandler) -> JobHandler:
        """The handler within its limits."""
        limits = self.configured.get(JobType(handler.type), HandlerLimits())
        return outlasting(self.slowest, handler, limits)


def slowest(channels: Mapping[str, PayerChannel]) -> Slowest | None:
    """The payer by whose time-outs a send must be allowed to run."""
    found = (_longest_send(name, channel.settings) for name, channel in channels.items())
    return max(found, key=lambda payer: payer.wait, default=None)


def _longest_send(name: str, payer: PayerSettings) -> Slowest:
    waits = payer.timeouts
    return Slowest(name, waits.queue, waits.total, calls=2 if payer.cancel_when_ambiguous else 1)


def outlasting(payer: Slowest | None, handler: JobHandler, limits: HandlerLimits) -> JobHandler:
    """The handler within its limits; a send may outlast the slowest payer, whatever the limits say."""
    if payer is None or handler.type != JobType.SUBMIT_CLAIM:
        return within(limits, handler)
    needed = payer.wait + OWN_WORK
    time_limit = max(handler.time_limit, needed)
    lock = max(handler.lock, time_limit + LOCK_MARGIN)
    limited = within(limits, replace(handler, lock=lock, time_limit=time_limit))
    if limited.time_limit < needed:
        raise SettingsError(
            f"HANDLER_LIMITS: {handler.type} may run {limited.time_limit.total_seconds():g} s, but payer "
            f"{payer.payer_id} may take {needed.total_seconds():g} s "
            f"(PAYERS_FILE: {payer.calls} x queue {payer.queue:g} s and total {payer.total:g} s, "
            f"{OWN_WORK.total_seconds():g} s for ourselves): "
            "raise time_limit_seconds, or lower the payer's timeouts."
        )
    return limited


def within(limits: HandlerLimits, handler: JobHandler) -> JobHandler:
    """The handler within these limits; a lock must outlive the handler it protects."""
    lock = _seconds(limits.lock_seconds) or handler.lock
    time_limit = _seconds(limits.time_limit_seconds) or handler.time_limit
    if time_limit >= lock:
        raise SettingsError(
            f"HANDLER_LIMITS: {handler.type} may run {time_limit.total_seconds():g} s, but its job is "
            f"locked for {lock.total_seconds():g} s only: give it a longer lock_seconds."
        )
    return replace(handler, lock=lock, time_limit=time_limit, at_once=limits.at_once or handler.at_once)


def _seconds(number: float | None) -> timedelta | None:
    return None if number is None else timedelta(seconds=number)
