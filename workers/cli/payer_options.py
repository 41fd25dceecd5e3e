"""What the orders about payers share."""

from typing import Annotated

import structlog
import typer

from domain.operators import Attribution
from workers.cli.output import tell
from workers.payers.admission import PayerChange

log = structlog.get_logger(__name__)
PayerArgument = Annotated[str, typer.Argument(help="The payer's id, as in its settings.", metavar="PAYER")]


def tell_done(change: PayerChange, given: Attribution, what: str) -> None:
    """Say what an order did, and keep it in the log."""
    after = change.after
    log.warning("payer_order", payer=after.payer_id, by=given.by, state=after.state, why=given.reason)
    tell(f"Payer {after.payer_id} {what}.")
