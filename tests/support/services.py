"""Services for handlers under test: what a test does not name is as plain as can be."""

from typing import Any

from gateways.clock import WallClock
from gateways.practice.scripted import Script, ScriptedPayer
from persistence.store import Store
from workers.jobs.services import Services
from workers.payers.limits import LimitsByPayer
from workers.payers.waking import Waker
from workers.policy import load_policy


def services(store: Store, **given: Any) -> Services:
    """A practice payer, the packaged policy, the wall's clock and nobody to wake, unless given."""
    limits = given.get("payer_limits", LimitsByPayer())
    plain: dict[str, Any] = {
        "payer": ScriptedPayer(Script()),
        "policy": load_policy,
        "clock": WallClock(),
        "waker": Waker(store, limits),
        "payer_limits": limits,
    }
    return Services(store=store, **(plain | given))
