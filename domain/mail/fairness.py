"""Whose turn it is: round robin between tenants, as the mail rules have it.

A turn is up to `batch` jobs in a row of one tenant. A round is one turn of anybody; a tenant that waits
while others have theirs has one more round without processing, and rises by one priority. The longest passed
over goes next, so none of N tenants of equal weight waits longer than N - 1 turns. A tenant with nothing
waiting is not passed over: its count stands at 0.

Weights are kept by strides: each turn moves the moment at which a tenant is due by 1 / weight. At equal
weights whoever is due first is also the one longest passed over, and so of the most urgent priority.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import ceil

MOST_KNOWN = 5_000
"""How many tenants are remembered; of those with nothing waiting, the least recently served are forgotten."""
NEVER = -1
MOST_ARREARS = 4.0
"""How far a tenant may lag behind what is due to it, because nobody has two turns in a row, and catch up."""
NO_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class FairnessTerms:
    """The document's settings under their meaning; a smaller priority is more urgent.

    `weights` are for tenants that are to be served more often (2: twice as often) or less; others have 1.
    They change who is next, never how many go in a row: of two tenants that wait, each has every other turn.
    """

    enabled: bool = True
    batch: int = 3
    base_priority: int = 5
    step: int = 1
    top_priority: int = 1
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Terms by which somebody would never be served are refused."""
        if self.batch < 1 or self.step < 0 or self.top_priority > self.base_priority:
            raise ValueError("a batch has at least one job, and priorities rise from base to top")
        if any(weight <= 0 for weight in self.weights.values()):
            raise ValueError("every weight is more than nothing")

    def weight(self, tenant: str) -> float:
        """How often the tenant is served beside one of weight 1."""
        return self.weights.get(tenant, 1.0)

    def stride(self, tenant: str) -> float:
        """How far one turn of the tenant moves its next one."""
        return 1 / self.weight(tenant)


def weights_by_tier(tiers: Mapping[str, str], weights: Mapping[str, float]) -> Mapping[str, float]:
    """Tenants' weights from their tiers; a tier that has no weight is a mistake."""
    if unknown := sorted(set(tiers.values()) - set(weights)):
        raise ValueError(f"no weight is set for tier {', '.join(unknown)}")
    return {tenant: weights[tier] for tenant, tier in tiers.items()}


def round_robin_priority(rounds: int, terms: FairnessTerms | None = None) -> int:
    """`calculateRoundRobinPriority`: 5 after no round without processing, 2 after three, 1 at the most."""
    terms = terms or FairnessTerms()
    return max(terms.top_priority, terms.base_priority - rounds * terms.step)


@dataclass(frozen=True, slots=True)
class TenantFairnessMetrics:
    """The six fields of the document's interface."""

    company_id: str
    last_processed_at: datetime | None
    rounds_without_processing: int
    current_priority: int
    total_processed: int
    consecutive_batch_count: int

    def as_document(self) -> dict[str, str | int]:
        """Under the document's names; a tenant that was never served has no `lastProcessedAt`."""
        last = self.last_processed_at
        return {
            "companyId": self.company_id,
            **({} if last is None else {"lastProcessedAt": last.isoformat(timespec="milliseconds")}),
            "roundsWithoutProcessing": self.rounds_without_processing,
            "currentPriority": self.current_priority,
            "totalProcessed": self.total_processed,
            "consecutiveBatchCount": self.consecutive_batch_count,
        }


@dataclass(frozen=True, slots=True)
class Turn:
    """Who is served next, and at most how many jobs in a row."""

    tenant: str
    most: int


@dataclass(frozen=True, slots=True)
class TenantStanding:
    """One tenant: the round since which it waits unserved (None: nothing waits), and its last service.

    `due` is when its next turn is, counted in turns of a tenant of weight 1.
    """

    waits_since: int | None = None
    due: float = 0.0
    last_round: int = NEVER
    last_at: datetime | None = None
    total: int = 0


@dataclass(frozen=True, slots=True)
class Fairness:
    """Where the round robin stands; each step gives the next one. `reached` is when the last turn was due."""

    terms: FairnessTerms = field(default_factory=FairnessTerms)
    standings: Mapping[str, TenantStanding] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()
    round: int = 0
    current: str | None = None
    in_a_row: int = 0
    reached: float = 0.0

    def seen(self, waiting: Sequence[str]) -> "Fairness":
        """With these tenants waiting, and no others."""
        now = frozenset(waiting)
        if now == self.waiting:
            return self
        gone = {name: replace(self.standings[name], waits_since=None) for name in self.waiting - now}
        come = {name: self._waiting_now(name) for name in waiting if name not in self.waiting}
        return replace(self, standings=_bounded({**self.standings, **gone, **come}), waiting=now)

    def _waiting_now(self, tenant: str) -> TenantStanding:
        """A tenant that begins to wait stands as if it had just had its turn."""
        known = self.standings.get(tenant, TenantStanding())
        due = max(known.due, self.reached + self.terms.stride(tenant))
        return replace(known, waits_since=self.round, due=due)

    def next_turn(self, waiting: Sequence[str]) -> Turn:
        """Who of those waiting, all of whom were `seen`, is served next; off, whoever stands first."""
        if not self.terms.enabled:
            return Turn(waiting[0], NO_LIMIT)
        if self.current in waiting and (left := self.terms.batch - self.in_a_row) > 0:
            return Turn(str(self.current), left)
        others = [name for name in waiting if name != self.current]
        return Turn(min(others or waiting, key=self._urgency), self.terms.batch)

    def served(self, tenant: str, number: int, at: datetime) -> "Fairness":
        """After so many jobs of a tenant were handed out in its turn; none changes nothing."""
        return self.took(tenant, [tenant] * number, at)

    def took(self, tenant: str, owners: Sequence[str], at: datetime) -> "Fairness":
        """After a tenant's turn in which jobs of these were handed out, in this order.

        The turn is the tenant's, also where others that share its queue stood before it there; what is
        counted as processed is each one's own.
        """
        if not owners:
            return self
        opens = tenant != self.current or self.in_a_row >= self.terms.batch
        turned = self._opened(tenant) if opens else self
        for owner in owners:
            turned = turned._processed(owner, at)
        return turned

    def set_back(self, tenant: str) -> "Fairness":
        """After one job of a tenant that was handed out was not processed after all; its turn was had.

        This may be known before the job is counted.
        """
        known = self.standings.get(tenant, TenantStanding())
        return replace(self, standings={**self.standings, tenant: replace(known, total=known.total - 1)})

    def _opened(self, tenant: str) -> "Fairness":
        """With a new turn begun, which is a round more for all that wait and are not served in it."""
        known = self.standings.get(tenant, TenantStanding())
        due = max(known.due, self.reached - MOST_ARREARS) + self.terms.stride(tenant)
        return replace(
            self,
            standings={**self.standings, tenant: replace(known, due=due, last_round=self.round + 1)},
            round=self.round + 1,
            reached=max(self.reached, known.due),
        )

    def _processed(self, owner: str, at: datetime) -> "Fairness":
        """With one job of a tenant handed out."""
        known = self.standings.get(owner, TenantStanding())
        since = None if known.waits_since is None else self.round
        after = replace(known, waits_since=since, last_at=at, total=known.total + 1)
        return replace(
            self,
            standings={**self.standings, owner: after},
            current=owner,
            in_a_row=1 + (self.in_a_row if owner == self.current else 0),
        )

    def rounds_without(self, tenant: str) -> int:
        """How many turns of others the tenant has waited through."""
        since = self.standings[tenant].waits_since
        return 0 if since is None else self.round - since

    def fair_rounds(self) -> int:
        """How many turns of others a tenant may wait through with those that wait now.

        With equal weights one turn of each other; a heavier one has more, and may catch up on its arrears.
        """
        weights = [self.terms.weight(tenant) for tenant in self.waiting]
        if not weights:
            return 0
        turns = sum(ceil(weight / min(weights)) for weight in weights) - 1
        return turns if min(weights) == max(weights) else ceil(turns * (1 + MOST_ARREARS))

    def priority(self, tenant: str) -> int:
        """The tenant's priority now."""
        return round_robin_priority(self.rounds_without(tenant), self.terms)

    def metrics(self) -> tuple[TenantFairnessMetrics, ...]:
        """Every tenant that waits or was served, by id."""
        known = (name for name, one in self.standings.items() if one.total or one.waits_since is not None)
        return tuple(self._metrics(name) for name in sorted(known))

    def _metrics(self, tenant: str) -> TenantFairnessMetrics:
        standing = self.standings[tenant]
        return TenantFairnessMetrics(
            company_id=tenant,
            last_processed_at=standing.last_at,
            rounds_without_processing=self.rounds_without(tenant),
            current_priority=self.priority(tenant),
            total_processed=max(0, standing.total),
            consecutive_batch_count=self.in_a_row if tenant == self.current else 0,
        )

    def _urgency(self, tenant: str) -> tuple[float, int, int]:
        """Whoever is due first; of equals the longest passed over, then the one served longest ago."""
        standing = self.standings[tenant]
        return standing.due, standing.waits_since or 0, standing.last_round


def _bounded(standings: dict[str, TenantStanding]) -> Mapping[str, TenantStanding]:
    if len(standings) <= MOST_KNOWN:
        return standings
    idle = [name for name, one in standings.items() if one.waits_since is None]
    idle.sort(key=lambda name: standings[name].last_round)
    return _without(standings, idle[: len(standings) - MOST_KNOWN])


def _without(standings: Mapping[str, TenantStanding], gone: Iterable[str]) -> Mapping[str, TenantStanding]:
    forgotten = set(gone)
    return {name: one for name, one in standings.items() if name not in forgotten}
