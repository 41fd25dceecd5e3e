"""Which engine to work with, and the clock that claims live by."""

from dataclasses import dataclass

from domain.ports import Clock
from gateways.clock import CountedClock, WallClock
from gateways.zeebe import engine
from gateways.zeebe.connection import Plaintext, ZeebeConnection
from persistence.clock import DatabaseClock
from persistence.store import Store
from workers.app.ciphers import owns_database
from workers.config.cluster import connection_from
from workers.config.settings import Settings
from workers.upkeep.clocks import ENGINE, ClockCheck


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which engine to work with, and the clock it lives by."""

    connection: ZeebeConnection
    clock: Clock


def find_cluster(settings: Settings) -> Cluster:
    """The cluster that is set, or the embedded engine if it runs."""
    if connection := connection_from(settings.cluster):
        return Cluster(connection, WallClock())
    running = engine.status(settings.engine.config())
    if running is None:
        raise engine.EngineError(
            "No engine is running here and ZEEBE_ADDRESS is not set: start one with `reenvio engine start`, "
            "start everything with `reenvio up`, or set ZEEBE_ADDRESS to your own cluster."
        )
    return embedded(running)


def clock_here(settings: Settings, store: Store) -> Clock:
    """The clock that claims live by: a running embedded engine's, which may be moved, else the database's."""
    running = None if connection_from(settings.cluster) else engine.status(settings.engine.config())
    return embedded(running).clock if running else shared_clock(settings, store)


def clock_of(cluster: Cluster, settings: Settings, store: Store) -> Clock:
    """The clock that workers of the cluster live by, cheap to ask."""
    machine = cluster.clock
    is_real = isinstance(machine, WallClock)
    return shared_clock(settings, store, machine) if is_real else CountedClock(machine)


def shared_clock(settings: Settings, store: Store, machine: Clock | None = None) -> Clock:
    """The database's time, by which all workers live, whatever their machines say."""
    return DatabaseClock(store.time, machine or WallClock(), tolerance=settings.clocks.warn)


def clock_check(settings: Settings, store: Store, clock: Clock, machine: Clock | None = None) -> ClockCheck:
    """The clocks that maintenance compares.

    An engine that may be moved is right by itself where nothing but its own home lives by it.
    """
    if isinstance(clock, DatabaseClock):
        clocks = {"the database": clock, "this machine": machine or WallClock()}
    elif owns_database(settings):
        clocks = {}
    else:
        clocks = {"the database": shared_clock(settings, store), "this machine": WallClock(), ENGINE: clock}
    return ClockCheck(clocks, settings.clocks.tolerance)


def embedded(running: engine.RunningEngine) -> Cluster:
    """The embedded engine as a cluster: its clock may be moved, and ours follows it."""
    from gateways.engine_clock import EngineClock  # httpx: slow, and needed only where an engine runs

    return Cluster(Plaintext(running.grpc_address), EngineClock(running.management_url))
