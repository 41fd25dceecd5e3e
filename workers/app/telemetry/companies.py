"""Which companies have a label of their own: those of the settings, then those with most mail of late."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from domain.ports import Clock
from domain.readings import Reading
from persistence.store import Store
from workers.app.telemetry.counters import Counters
from workers.app.telemetry.label_names import NAMES_AT_MOST, LabelNames

RANKED_OVER = timedelta(days=7)
COUNTED_BY_COMPANY = ("dlq_by_company", "tenant_jobs_processed")


@dataclass(frozen=True, slots=True)
class CompanyRanking:
    """Gives the labels to the biggest, by what the database has: so all workers name the same ones."""

    store: Store
    clock: Clock
    names: LabelNames
    counters: Counters

    async def read(self) -> Sequence[Reading]:
        """Rank the companies anew; there is no gauge in it. Counters of who is named now begin at 0."""
        since = await self.clock.now() - RANKED_OVER
        ranked = await self.store.look(lambda tx: tx.figures.mails_by_company(since, NAMES_AT_MOST))
        named = self.names.rank([company for company, _number in ranked])
        for metric in COUNTED_BY_COMPANY:
            self.counters.begin(metric, ((label,) for label in named))
        return ()
