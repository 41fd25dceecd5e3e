"""What job handlers work with."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import perf_counter

from domain.observations import Observe, nobody_watches
from domain.policy import Policy
from domain.ports import Clock
from domain.retention import Periods
from domain.submission import PayerGateway
from gateways.tiss.probe import is_up
from persistence.encryption.cipher import Cipher
from persistence.store import Store
from workers.claims.guides import GuideSearch
from workers.config.idempotency import IdempotencySettings
from workers.jobs.limits import JobLimits
from workers.mail.services import MailServices
from workers.payers.limits import LimitsByPayer
from workers.payers.places import Places
from workers.payers.waking import Waker
from workers.upkeep.clocks import ClockCheck
from workers.upkeep.probing import Probe
from workers.upkeep.standing import Nudges

PolicyNow = Callable[[], Policy]


async def nothing_received() -> int:
    """For workers without an intake."""
    return 0


async def every_process_runs(_process_instance_key: int) -> bool:
    """For workers that cannot ask the engine: then no process takes a claim over from another."""
    return True


async def no_process_ended(_process_instance_key: int) -> bool:
    """For workers that cannot ask the engine: then mail whose process is gone is started again."""
    return False


def nobody_to_tell() -> None:
    """For workers that take on jobs whatever the database does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Handed to every handler's factory; without a cipher no file is sent and no operation's result is kept.
    Without `guides` a refused guide never proves that a claim arrived. `practice` says that the payer only
    plays one: it never answers for a claim that was handed in. What is past its period is removed by
    `retention_store` where there is one, since workers may have no right to.

    Without `mail` notices are recorded, and nobody is written to. `stopwatch` counts seconds that pass by
    themselves, whatever is done to clocks, and `pause` waits for them. `doubt` is told when the database may
    be away. `process_runs` and `process_ended` ask the engine for a process instance, `nudges` push on what
    stands still. `observe` is told what was done.
    """

    store: Store
    clock: Clock
    payer: PayerGateway
    policy: PolicyNow
    waker: Waker
    payer_limits: LimitsByPayer
    practice: bool = False
    cipher: Cipher | None = None
    guides: GuideSearch | None = None
    retention_store: Store | None = None
    periods: Periods = field(default_factory=Periods)
    clock_check: ClockCheck = field(default_factory=ClockCheck)
    idempotency: IdempotencySettings = field(default_factory=IdempotencySettings)
    limits: JobLimits = field(default_factory=JobLimits)
    mail: MailServices | None = None
    start_received: Callable[[], Awaitable[int]] = nothing_received
    probe: Probe = is_up
    nudges: Nudges = field(default_factory=Nudges)
    process_runs: Callable[[int], Awaitable[bool]] = every_process_runs
    process_ended: Callable[[int], Awaitable[bool]] = no_process_ended
    doubt: Callable[[], None] = nobody_to_tell
    observe: Observe = nobody_watches
    stopwatch: Callable[[], float] = perf_counter
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    places: Places = field(default_factory=Places)
