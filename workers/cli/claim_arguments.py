"""Claims as arguments of commands."""

from typing import Annotated

import typer

from domain.claim import CLAIM_ID_SHAPE, ClaimId, ClaimIdForm


def _claim_id(text: str) -> ClaimId:
    try:
        return ClaimId(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; for example CLM-001-1234567890") from error


def _decided_claim_id(text: str) -> ClaimId:
    return ClaimId(text, ClaimIdForm.REFERENCE) if ClaimIdForm.REFERENCE.fits(text) else _claim_id(text)


ClaimArgument = Annotated[ClaimId, typer.Argument(parser=_claim_id, metavar=CLAIM_ID_SHAPE)]
DecidedClaimArgument = Annotated[ClaimId, typer.Argument(parser=_decided_claim_id, metavar=CLAIM_ID_SHAPE)]
"""A claim that may be of another process: its id may have the form of a reference."""
OptionalDecidedClaim = Annotated[
    ClaimId | None, typer.Argument(parser=_decided_claim_id, metavar=f"[{CLAIM_ID_SHAPE}]")
]
OptionalClaim = Annotated[ClaimId | None, typer.Argument(parser=_claim_id, metavar=f"[{CLAIM_ID_SHAPE}]")]
