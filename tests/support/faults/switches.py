"""The switchboard of faults: which are on, how often they strike, how often they struck."""

import random
from collections import Counter
from typing import TypeVar

from tests.support.faults.kinds import CallFault, DeliveryFault, Fault, Method, Rule, name_of

AnyFault = TypeVar("AnyFault", bound=Fault)


class Faults:
    """Draws faults by the rules that are switched on; every draw comes from the given rng."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._rules: tuple[Rule, ...] = ()
        self.injected: Counter[str] = Counter()

    def switch(self, *rules: Rule) -> None:
        """These rules and no others from now on; none at all switches everything off."""
        self._rules = rules

    def on_call(self, method: Method) -> tuple[CallFault, ...]:
        """What befalls one call."""
        drawn = (rule.fault for rule in self._rules if self._strikes(rule, method))
        return tuple(self._counted(fault) for fault in drawn if isinstance(fault, CallFault))

    def on_delivery(self, method: Method) -> tuple[DeliveryFault, ...]:
        """What befalls the delivery of one job."""
        drawn = (rule.fault for rule in self._rules if self._strikes(rule, method))
        return tuple(self._counted(fault) for fault in drawn if isinstance(fault, DeliveryFault))

    def note(self, name: str) -> None:
        """Count a fault that was brought about by other means, such as a cut cable."""
        self.injected[name] += 1

    def _strikes(self, rule: Rule, method: Method) -> bool:
        return method in rule.methods and self._rng.random() < rule.probability

    def _counted(self, fault: AnyFault) -> AnyFault:
        self.note(name_of(fault))
        return fault
