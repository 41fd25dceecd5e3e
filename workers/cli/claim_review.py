"""`reenvio claim protocol | review`: what people decide about a claim, and what its payer says of it."""

from pathlib import Path
from typing import Annotated

import typer

from bpmn.names import ReviewDecision
from domain.reviews import AtPayer
from persistence.repositories.claims import ClaimRow
from persistence.store import Store
from workers.app.composition import App, running
from workers.app.reviewing import claim_reviews
from workers.claims.finding import whether_at_payer
from workers.claims.protocols import Protocols, status_lines
from workers.claims.reviewing import Verdict
from workers.cli.application import with_app
from workers.cli.claim_arguments import ClaimArgument
from workers.cli.operator import FOR_GOOD, ByOption, ReasonOption, YesOption, asked, require_reason
from workers.cli.output import tell
from workers.cli.steer import described
from workers.cli.submit import read_file

AT_PAYER = {
    AtPayer.YES: "The payer has it, and does not hear of this. ",
    AtPayer.MAYBE: "The payer may have it, since the answer to a send was lost: ask the payer first. ",
}
MEANT = {
    ReviewDecision.RESEND: "It is sent to its payer again, and its retries are counted anew.",
    ReviewDecision.CORRECTED: "It is sent to its payer again, with the corrected file where one is given.",
    ReviewDecision.WRITE_OFF: "It is written off: nothing is sent any more, and nobody is asked again.",
    ReviewDecision.PROTOCOL_RECOVERED: "It ends as accepted, under the protocol that is given or on record.",
}
ProtocolOption = Annotated[
    str | None, typer.Option("--protocol", help="The number; default: the one a damaged answer names.")
]


def protocol(claim: ClaimArgument, number: ProtocolOption = None) -> None:
    """Ask the payer about the protocol of a claim that it has, and whether it is the claim's own."""

    async def go(app: App) -> None:
        told = await _protocols(app).ask(claim, number)
        for line in status_lines(told.situation):
            tell(line)
        if told.is_news:
            told.require_own()
            found = f"PROTOCOL_RECOVERED --protocol {told.situation.protocol}"
            tell(f"It is {claim}'s own batch: `reenvio claim review {claim} {found}` takes it over.")

    with_app(go, quiet=False, opened=running)


def review(
    claim: ClaimArgument,
    decision: Annotated[ReviewDecision, typer.Argument(case_sensitive=False)],
    number: ProtocolOption = None,
    file: Annotated[Path | None, typer.Option(help="The corrected batch, for CORRECTED.")] = None,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Take the number as given: you have seen the receipt.")
    ] = False,
    reason: ReasonOption = None,
    by: ByOption = None,
    yes: YesOption = False,
) -> None:
    """Decide a claim in review: resend, corrected, write off, or protocol recovered."""
    recovers = decision is ReviewDecision.PROTOCOL_RECOVERED
    if file and decision is not ReviewDecision.CORRECTED:
        raise typer.BadParameter("a file is for CORRECTED", param_hint="--file")
    if unchecked and not recovers:
        raise typer.BadParameter("this is for PROTOCOL_RECOVERED", param_hint="--unchecked")
    require_reason(reason)

    async def go(app: App) -> None:
        before = await app.messages.decidable(claim, decision)
        data = read_file(file, app.intake.reader.terms.max_bytes) if file else None
        given = asked(await _meant(app.store, before, decision), reason, by, yes=yes)
        verdict = Verdict(decision, number, unchecked, data)
        after = await claim_reviews(app).decide(claim, verdict, given)
        tell(f"{claim}: the process took {decision}; it is {after.state} now.")

    with_app(go, quiet=not recovers)


async def _meant(store: Store, claim: ClaimRow, decision: ReviewDecision) -> str:
    """What will happen, for people to compare; also what the payer may have of it."""
    where = await store.look(lambda tx: whether_at_payer(tx, claim.claim_id))
    recovers = decision is ReviewDecision.PROTOCOL_RECOVERED
    beware = "" if recovers else AT_PAYER.get(where, "")
    return f"{described(claim)} {MEANT[decision]} {beware}{FOR_GOOD}"


def _protocols(app: App) -> Protocols:
    return claim_reviews(app).protocols
