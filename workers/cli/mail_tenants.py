"""`reenvio mail tenants`: the document's six figures of each company, over all workers."""

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from domain.mail.fairness import TenantFairnessMetrics
from domain.mail.tenants import all_together
from persistence.store import Store
from workers.app.cluster import clock_here
from workers.cli.database import with_store
from workers.cli.dlq_options import CompanyOption
from workers.cli.output import tell
from workers.cli.tables import print_table
from workers.config.settings import read_settings

COLUMNS = (
    "companyId",
    "lastProcessedAt",
    "roundsWithoutProcessing",
    "currentPriority",
    "totalProcessed",
    "consecutiveBatchCount",
)
NOBODY = "No mail was taken up in the last 7 days{of}: a worker that sends mail notes it within 5 seconds."


def tenants(
    company: CompanyOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON list, under the document's names.")
    ] = False,
) -> None:
    """Where each company stands in the turns of mail: the six figures of TenantFairnessMetrics.

    Workers note them every 5 seconds. What was processed is counted over 7 days and all workers; turns are
    those of the worker that passes the company over most, now.
    """
    settings = read_settings()

    async def go(store: Store) -> None:
        now = await clock_here(settings, store).now()
        noted = await store.look(lambda tx: tx.tenant_figures.all())
        found = all_together(noted, settings.fairness.base_priority, now)
        _tell([one for one in found if company in (None, one.company_id)], company, as_json=as_json)

    with_store(go, settings)


def _tell(found: Sequence[TenantFairnessMetrics], company: str | None, *, as_json: bool) -> None:
    documents = [one.as_document() for one in found]
    if as_json:
        tell(json.dumps(documents, indent=2))
    elif not found:
        tell(NOBODY.format(of=f" of {company}" if company else ""))
    else:
        print_table(COLUMNS, [[str(one.get(name, "-")) for name in COLUMNS] for one in documents])
