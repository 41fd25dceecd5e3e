"""What the orders about payers share."""

from typing import Annotated

import typer

from workers.cli.output import tell
from workers.payers.admission import PayerChange

PayerArgument = Annotated[str, typer.Argument(help="The payer's id, as in its settings.", metavar="PAYER")]


def tell_done(change: PayerChange, what: str) -> None:
    """Say what an order did."""
    tell(f"Payer {change.after.payer_id} {what}.")
