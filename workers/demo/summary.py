"""How the demo ended: each claim's fate beside the one it should have met."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from domain.claim_state import ClaimState
from domain.legible import printable_line
from gateways.practice.simulator.ledger import Ledger
from persistence.repositories.claims import ClaimRow
from workers.demo.samples import Sample
from workers.demo.snapshot import COLOURS


def summary(samples: Sequence[Sample], claims: Sequence[ClaimRow], sends: Mapping[str, int]) -> Table:
    """A row per claim."""
    table = Table(box=box.SIMPLE, title="Every claim and its fate", padding=(0, 1, 0, 0))
    table.add_column("claim", no_wrap=True)
    for heading in ("fate", "sends", "ended", "protocol or reason", "as expected"):
        table.add_column(heading)
    by_id = {claim.claim_id: claim for claim in claims}
    for sample in samples:
        claim = by_id.get(sample.claim_id)
        state = claim.state if claim else None
        table.add_row(
            sample.claim_id,
            sample.fate,
            str(sends.get(sample.claim_id, 0)),
            _state(state),
            _result(claim),
            "[green]yes[/]" if state is sample.ends else f"[red]no: {sample.ends}[/]",
        )
    return table


def unmet(samples: Sequence[Sample], claims: Sequence[ClaimRow]) -> int:
    """How many claims did not end as they should."""
    states = {claim.claim_id: claim.state for claim in claims}
    return sum(states.get(sample.claim_id) is not sample.ends for sample in samples)


def ledger_line(ledger: Ledger) -> str:
    """What the payers' own ledger says."""
    arrived = sum(entry.operation == "loteGuiasWS" for entry in ledger.entries)
    taken, twice = len(ledger.times_taken()), taken_twice(ledger) or "none"
    return f"The payers' ledger: {arrived} sends arrived, {taken} batches taken, {twice} twice."


def taken_twice(ledger: Ledger) -> int:
    """How many batches a payer took more than once: there must be none."""
    return sum(times > 1 for times in ledger.times_taken().values())


def _state(state: ClaimState | None) -> Text:
    if state is None:
        return Text("never arrived", style="red")
    return Text(state.replace("_", " ").lower(), style=COLOURS[state])


def _result(claim: ClaimRow | None) -> Text:
    if claim is None:
        return Text()
    if claim.protocol_number:
        return Text(f"{printable_line(claim.protocol_number)} (simulated)")
    return Text(printable_line((claim.reason or "").replace("_", " ").lower()))
