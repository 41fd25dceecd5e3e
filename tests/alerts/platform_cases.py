"""Worlds for the alerts of our own."""

from tests.alerts.case import LONG, Case, once, rising, steady

UP = {'up{instance="a"}': steady(1)}
NOT_READY = {'reenvio_ready{instance="a"}': steady(0)}
BOTH = {'reenvio_ready{instance="a"}': steady(1), 'reenvio_ready{instance="b"}': steady(0)}
READ = {'reenvio_outbox_waiting{instance="a"}': steady(0)}
RESTARTED = {'reenvio_ready{instance="a"}': "1x10 _ 1x20"}
DOWN = {'up{instance="a"}': steady(0)}


def database(quick: float, slow: float) -> dict[str, str]:
    """Writes of up to 0.1 s, and of 0.5 to 1 s, per step."""
    name, write = "reenvio_database_duration_seconds", 'instance="a", kind="write"'
    buckets = {"0.1": quick, "0.5": quick, "1.0": quick + slow, "+Inf": quick + slow}
    counted = {f'{name}_bucket{{{write}, le="{le}"}}': rising(rate) for le, rate in buckets.items()}
    return counted | {f"{name}_count{{{write}}}": rising(quick + slow)}


def payer(state: str, until: int = 0) -> dict[str, str]:
    """A payer in a state, from the beginning or until a minute."""
    values = f"1+0x{until} 0+0x{LONG}" if until else steady(1)
    return {f'reenvio_payer_state{{instance="a", payer="sul", state="{state}"}}': values}


def held(state: str, values: str) -> dict[str, str]:
    """Seconds for which a payer has taken no claims, while it is in a state."""
    return {f'reenvio_payer_held_seconds{{instance="a", payer="sul", state="{state}"}}': values}


def taking_turns(first: str, second: str) -> dict[str, str]:
    """A payer that is tried in vain again and again, five minutes in each state, held since the beginning."""
    turns = [str(minute * 60) for minute in range(100)]
    shown = [minute // 5 % 2 for minute in range(100)]
    return held(first, " ".join(t if not s else "0" for t, s in zip(turns, shown, strict=True))) | held(
        second, " ".join(t if s else "0" for t, s in zip(turns, shown, strict=True))
    )


def more(stopped: str, other: str = steady(1)) -> dict[str, str]:
    """So many payers are stopped; whether one without a label is among them."""
    return {
        'reenvio_payers{instance="a", state="STOPPED"}': stopped,
        'reenvio_payer_state{instance="a", payer="other", state="STOPPED"}': other,
    }


RESTART = "stale _ _"
"""A worker that is gone for three minutes: Prometheus notes at once that its series are."""


ONE_DOWN = {'up{instance="a"}': steady(1), 'up{instance="b"}': steady(0), **READ}
RESTARTS = {'up{instance="a"}': steady(1), 'up{instance="b"}': "1x5 0x7 1x100", **READ}
ALL_DOWN = {'up{instance="a"}': steady(0), 'up{instance="b"}': steady(0)}
LOOKED, COUNTED = 'reenvio_standing_look_age_seconds{instance="a"}', 'reenvio_kpi_age_seconds{instance="a"}'
NOBODY, ANY_STOPPED = frozenset({"ReenvioNoWorkerReady"}), frozenset({"ReenvioPayerStopped"})
SUL = {"payer": "sul"}
INCIDENT = 'reenvio_incidents{instance="a", type="notify"}'
ELSEWHERE = 'reenvio_incidents_elsewhere_total{instance="a", type="notify"}'
NOTIFY = {"type": "notify"}
STOPPED = 'reenvio_payer_state{instance="a", payer="sul", state="STOPPED"}'
BLOCKED = 'reenvio_loop_blocked_seconds_sum{instance="a"}'
STILL, LAG = 'reenvio_standing_still{instance="a", kind="job"}', 'reenvio_outbox_lag_seconds{instance="a"}'
ASIDE = 'reenvio_events_set_aside_total{instance="a"}'

PLATFORM_CASES = (
    Case("ReenvioNoWorkerReady", "nobody answers", DOWN, 5, {}, world={}),
    Case("ReenvioNoWorkerReady", "all are red", {}, 5, {}, world=NOT_READY),
    Case("ReenvioNoWorkerReady", "one of two is ready", {}, 5, world=BOTH),
    Case(
        "ReenvioNoWorkerReady",
        "a restart of a minute",
        {},
        12,
        world=RESTARTED,
    ),
    Case("ReenvioWorkerNotReady", "red for a quarter of an hour", {}, 15, {"instance": "b"}, world=BOTH),
    Case("ReenvioWorkerNotReady", "red for five minutes", {}, 5, world=BOTH),
    Case("ReenvioWorkerDown", "one of two does not answer", ONE_DOWN, 15, {"instance": "b"}),
    Case("ReenvioWorkerDown", "one of two for 9 minutes", ONE_DOWN, 9),
    Case("ReenvioWorkerDown", "a restart of 7 minutes", RESTARTS, 20),
    Case("ReenvioWorkerDown", "all of them", ALL_DOWN, 20, also=NOBODY, world={}),
    Case("ReenvioDatabaseUnread", "a worker without its gauges", UP, 10, {}),
    Case("ReenvioDatabaseUnread", "gauges are there", UP | READ, 10),
    Case(
        "ReenvioDatabaseUnread",
        "no worker at all",
        DOWN,
        10,
        also=NOBODY,
        world={},
    ),
    Case("ReenvioDatabaseSlow", "1 write in 10 over half a second", database(9, 1), 40, {"kind": "write"}),
    Case("ReenvioDatabaseSlow", "1 write in 50 over half a second", database(49, 1), 40),
    Case("ReenvioDatabaseSlow", "10 writes, all slow", database(0, 1), 40),
    Case("ReenvioLoopBlocked", "4 s of every minute", {BLOCKED: rising(4)}, 30, {"instance": "a"}),
    Case("ReenvioLoopBlocked", "2 s of every minute", {BLOCKED: rising(2)}, 30),
    Case("ReenvioIncidents", "one is open, for hours", {INCIDENT: steady(1)}, 140, NOTIFY),
    Case(
        "ReenvioIncidents",
        "one is open while its worker restarts",
        {INCIDENT: f"1x9 {RESTART} 1x9"},
        12,
        NOTIFY,
    ),
    Case("ReenvioIncidents", "a person has helped", {INCIDENT: "1x9 0x99"}, 11),
    Case("ReenvioIncidents", "none", {INCIDENT: steady(0)}, 10),
    Case("ReenvioIncidents", "one of a job without a claim", {ELSEWHERE: once(1, 40)}, 45, NOTIFY),
    Case("ReenvioIncidents", "one before the first scrape", {ELSEWHERE: f"_x20 1x{LONG}"}, 30, NOTIFY),
    Case("ReenvioIncidents", "none of such a job for an hour", {ELSEWHERE: once(1, 40)}, 101),
    Case("ReenvioClaimsStandStill", "not healed in 20 minutes", {STILL: steady(2)}, 20, {"kind": "job"}),
    Case("ReenvioClaimsStandStill", "healed", {STILL: "2x10 0x20"}, 20),
    Case(
        "ReenvioWatchBlind", "never looked, 21 minutes after the migration", {LOOKED: steady(1_260)}, 10, {}
    ),
    Case("ReenvioWatchBlind", "a fresh database, until its first look", {LOOKED: "0+60x9 0+60x4 0+60x4"}, 15),
    Case("ReenvioWatchBlind", "looked after a night without workers", {LOOKED: "36000x2 0+60x4 0+60x4"}, 10),
    Case("ReenvioKpisOld", "counted 27 hours ago", {COUNTED: steady(27 * 3_600)}, 20, {}),
    Case("ReenvioKpisOld", "counted 25 hours ago", {COUNTED: steady(25 * 3_600)}, 20),
    Case("ReenvioKpisOld", "a fresh database", {COUNTED: "0+60x100"}, 60),
    Case("ReenvioPayerStopped", "credentials refused", payer("STOPPED"), 2, SUL),
    Case("ReenvioPayerStopped", "let go", payer("STOPPED", until=10), 15),
    Case("ReenvioPayerStopped", "its worker restarts", {STOPPED: f"1x9 {RESTART} 1x9"}, 12, SUL),
    Case("ReenvioPayerStopped", "its worker has restarted", {STOPPED: f"1x9 {RESTART} 1x9"}, 13, SUL),
    Case("ReenvioMorePayersStopped", "another without a label", more("1x30 2x99"), 35, {}, also=ANY_STOPPED),
    Case("ReenvioMorePayersStopped", "another, an hour ago", more("1x30 2x99"), 90, also=ANY_STOPPED),
    Case("ReenvioMorePayersStopped", "one of two is let go", more("2x30 1x99"), 35, also=ANY_STOPPED),
    Case("ReenvioMorePayersStopped", "a restart", more(f"1x9 {RESTART} 1x99"), 20, also=ANY_STOPPED),
    Case("ReenvioMorePayersStopped", "the first", more(once(1, 30), once(1, 30)), 35, also=ANY_STOPPED),
    Case("ReenvioPayerHeld", "open for 40 minutes", held("OPEN", "0+60x99"), 40, SUL),
    Case("ReenvioPayerHeld", "open for 29 minutes", held("OPEN", "0+60x99"), 29),
    Case("ReenvioPayerHeld", "open for long before its worker began", held("OPEN", "1860+60x9"), 1, SUL),
    Case("ReenvioPayerHeld", "its worker restarts", held("OPEN", f"1860+60x9 {RESTART} 2640+60x9"), 12, SUL),
    Case(
        "ReenvioPayerHeld",
        "tried in vain for 40 minutes",
        taking_turns("OPEN", "HALF_OPEN"),
        40,
        {"payer": "sul"},
    ),
    Case("ReenvioPayerHeld", "back after 40 minutes", held("OPEN", "0+60x40 0x99"), 42),
    Case("ReenvioPayerHeld", "paused by a person", held("PAUSED", "0+60x99"), 40),
    Case("ReenvioOutboxLag", "301 s", {LAG: steady(301)}, 10, {}),
    Case("ReenvioOutboxLag", "300 s", {LAG: steady(300)}, 10),
    Case("ReenvioEventSetAside", "one", {ASIDE: once(1, 20)}, 30, {}),
    Case("ReenvioEventSetAside", "one before the first scrape", {ASIDE: f"_x20 1x{LONG}"}, 30, {}),
    Case("ReenvioEventSetAside", "one before the first scrape, long ago", {ASIDE: f"_x20 1x{LONG}"}, 100),
    Case("ReenvioEventSetAside", "none", {ASIDE: steady(0)}, 30),
    Case("ReenvioEventSetAside", "long ago", {ASIDE: once(1, 20)}, 100),
)
