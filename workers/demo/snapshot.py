"""What the demo shows: a snapshot of all claims, drawn with Rich."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from domain.claim_state import ClaimState
from domain.legible import printable_line
from domain.payer_status import PayerState, PayerStatus
from domain.slots import latest, opening
from persistence.repositories.claims import ClaimRow
from persistence.repositories.journal import JournalEntry
from workers.payers.status import PayerView

COLOURS = {
    ClaimState.RECEIVED: "cyan",
    ClaimState.SUBMITTING: "cyan",
    ClaimState.FAILED: "red",
    ClaimState.WAITING: "yellow",
    ClaimState.IN_REVIEW: "magenta",
    ClaimState.ACCEPTED: "green",
    ClaimState.CANCELLED: "bright_black",
    ClaimState.WRITTEN_OFF: "bright_black",
}
PROBED_WITHIN = timedelta(minutes=6)
TAKES_CLAIMS = "takes claims"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The claims at one moment of the engine's time."""

    start: datetime
    now: datetime
    claims: Sequence[ClaimRow]
    entries: Sequence[JournalEntry]
    payers: Sequence[PayerView] = ()

    @property
    def elapsed(self) -> timedelta:
        """How much time has passed in the demo."""
        return self.now - self.start

    @property
    def next_due(self) -> datetime | None:
        """When the next timer in the broker fires."""
        return min((c.next_retry_time for c in self.claims if c.next_retry_time), default=None)

    @property
    def is_quiet(self) -> bool:
        """Whether every claim rests: ended, with a person, or waiting for a moment still to come."""
        return all(_rests(claim, self.now) for claim in self.claims)

    @property
    def awaits_probe(self) -> bool:
        """Whether the regular look at a payer that is down is due, or one claim is about to try."""
        return any(_awaits_probe(payer.status, self.now) for payer in self.payers)

    def rests_since(self, before: "Snapshot") -> bool:
        """Whether every claim rests and nothing has happened since: no wake-up is on its way."""
        return self.is_quiet and (self.claims, self.entries) == (before.claims, before.entries)


def _rests(claim: ClaimRow, now: datetime) -> bool:
    if claim.state is ClaimState.WAITING:
        return claim.next_retry_time is not None and claim.next_retry_time > now
    return claim.state.is_final or claim.state is ClaimState.IN_REVIEW


def _awaits_probe(payer: PayerStatus, now: datetime) -> bool:
    if payer.state is PayerState.OPEN:
        return now - latest(payer.changed_at, payer.probed_at) > PROBED_WITHIN
    return payer.state is PayerState.HALF_OPEN


def draw(snapshot: Snapshot, *, rows: int) -> RenderableType:
    """The live view, in a number of screen lines: counts, claims on their way, latest events."""
    shown = max(3, (rows - 9) // 2)
    waiting = _on_their_way(snapshot, shown)
    events = Group(*(line(entry, snapshot.start) for entry in snapshot.entries[-shown:]))
    title = f"[bold]Reenvio[/]  {clock(snapshot.elapsed)} since the first send, on the engine's clock"
    counts = Group(_counts(snapshot), _payers(snapshot))
    happens = Panel(events, title="what happens, with simulated payers")
    return Group(Panel(counts, title=title), waiting, happens)


def clock(elapsed: timedelta) -> str:
    """Elapsed time as +h:mm."""
    minutes = int(elapsed.total_seconds() // 60)
    return f"+{minutes // 60}:{minutes % 60:02d}"


def line(entry: JournalEntry, start: datetime) -> Text:
    """One event as a line."""
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(f"{clock(entry.at - start)}  ", style="dim")
    text.append(f"{entry.claim_id}  ", style="bold")
    text.append(entry.event.replace("_", " "), style=_event_colour(entry.event))
    text.append(f"  {printable_line(entry.detail)}", style="dim")
    return text


def _event_colour(event: str) -> str:
    if event in ("accepted", "cancelled", "written_off"):
        return "green"
    if event in ("failed", "given_up", "protocol_missing"):
        return "red"
    return "magenta" if event in ("review_opened", "notified") else "yellow"


def _counts(snapshot: Snapshot) -> Text:
    counts = Counter(claim.state for claim in snapshot.claims)
    text = Text()
    for state in ClaimState:
        if counts[state]:
            label = state.replace("_", " ").lower()
            text.append(f" {label} {counts[state]} ", style=f"{COLOURS[state]} reverse")
            text.append("  ")
    return text


def _payers(snapshot: Snapshot) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    for payer in snapshot.payers:
        if (state := state_in_words(payer, snapshot.now)) != TAKES_CLAIMS:
            text.append(f" {payer.status.payer_id} ")
            text.append(state, style="red")
            text.append(f", claims held: {payer.waiting} ")
    return text or Text(" every payer takes claims", style="green")


def state_in_words(payer: PayerView, now: datetime) -> str:
    """A payer's state in words; a breaker that is open holds claims back."""
    match payer.status.state:
        case PayerState.CLOSED:
            return TAKES_CLAIMS if opening(payer.limits, now) <= now else "maintenance"
        case PayerState.OPEN:
            return "down"
        case PayerState.HALF_OPEN:
            return "being tried"
        case state:
            return state.lower()


def _on_their_way(snapshot: Snapshot, rows: int) -> Table:
    table = Table(expand=True, box=None)
    for heading in ("claim", "payer", "state", "retries", "next send in"):
        table.add_column(heading, no_wrap=True)
    table.add_column("why", no_wrap=True, ratio=1)
    open_claims = [c for c in snapshot.claims if not c.state.is_final and c.state is not ClaimState.IN_REVIEW]
    open_claims.sort(key=lambda c: c.next_retry_time or snapshot.now)
    for claim in open_claims[:rows]:
        state = Text(claim.state.lower(), style=COLOURS[claim.state])
        due = _wait(claim, snapshot.now)
        names = Text(claim.claim_id), Text(claim.payer_id)
        table.add_row(*names, state, str(claim.retry_count), due, Text(printable_line(claim.reason or "")))
    if len(open_claims) > rows:
        table.add_row(f"and {len(open_claims) - rows} more")
    return table


def _wait(claim: ClaimRow, now: datetime) -> str:
    if claim.next_retry_time is None:
        return ""
    seconds = max(0, round((claim.next_retry_time - now).total_seconds()))
    return f"{seconds // 60}:{seconds % 60:02d} min"
