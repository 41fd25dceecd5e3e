"""Shows a policy in the terminal: as tables, and the schedule as bars."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from domain.legible import printable, printable_line
from domain.limit_rules import left_bounds
from domain.policy import Policy
from workers.policy.tools.cover import arrivals, lost_share
from workers.policy.tools.diff import PolicyChange
from workers.policy.tools.lint import Advice
from workers.policy.tools.plot import clock

BAR = 34


def policy_tables(policy: Policy) -> RenderableType:
    """The policy read aloud: settings, schedule, catalog, payers."""
    return Group(_settings(policy), Text(), schedule(policy), Text(), _catalog(policy), _payers(policy))


def schedule(policy: Policy) -> RenderableType:
    """The retries on a time line, and the stated outages against it."""
    steps, outages = arrivals(policy.limits), policy.expectations.outage_minutes
    full = max(*outages, steps[-1].latest)
    table = Table(box=None, title="Time since the first failure", title_justify="left", pad_edge=False)
    for name in ("", "wait, min", "reached after", f"0 to {clock(full)}"):
        table.add_column(name, no_wrap=True)
    for step in steps:
        span = f"{clock(step.earliest)} to {clock(step.latest)}"
        bar = _bar(step.earliest / full, step.latest / full, "blue")
        table.add_row(f"Retry {step.number}", f"{step.wait_low:g} to {step.wait_high:g}", span, bar)
    for outage in outages:
        lost = lost_share(policy.limits, outage) * 100
        style = "green" if lost < 0.5 else "yellow" if lost <= policy.expectations.lost_percent else "red"
        table.add_row(f"Outage {clock(outage)}", "", f"{lost:.0f} % lost", _bar(0, outage / full, style))
    return table


def advice_list(advice: tuple[Advice, ...]) -> RenderableType:
    """What lint found, one paragraph each."""
    lines = (
        Text.assemble(
            (printable_line(item.name), "bold yellow"),
            f"\n  {printable(item.finding)}\n  ",
            (f"do: {printable(item.remedy)}", "green"),
        )
        for item in advice
    )
    return Group(*lines)


def change_table(changes: tuple[PolicyChange, ...]) -> RenderableType:
    """What differs, one row each."""
    table = Table("what", "before", "after")
    for change in changes:
        table.add_row(_text(change.what), _text(change.before or "-"), _text(change.after or "-"))
    return table


def _settings(policy: Policy) -> Table:
    table = Table.grid(padding=(0, 2))
    limits = policy.limits
    rows = {
        "policy": policy.label,
        "profile": f"{policy.profile.name} (of {', '.join(policy.profiles)})",
        "retries": f"{limits.max_retries}",
        "wait": f"{limits.base_seconds / 60:g} min x {limits.factor}^retryCount, +-{limits.jitter_percent} %",
        "bounds": f"{limits.floor_seconds / 60:g} to {limits.cap_seconds / 60:g} min",
        "reserve": f"{limits.reserve_seconds / 60:g} min before a deadline are kept for a person",
        "leaves": _left(policy),
        "on give up": policy.on_give_up.value,
        "claim id": policy.claim_id_form.asked,
        "empty error": policy.profile.empty_error.value,
        "zone": str(policy.zone),
    }
    for name, value in rows.items():
        table.add_row(Text(name, style="dim"), _text(value))
    return table


def _left(policy: Policy) -> str:
    if not policy.left_rules:
        return "no rule"
    bounds = left_bounds(policy.limits)
    return "; ".join(f"{left.names}, which asks for {left.asked}" for left in bounds)


def _catalog(policy: Policy) -> Table:
    table = Table(title="Catalog", title_justify="left")
    for name in ("category", "class", "team", "words", "codes"):
        table.add_column(name, overflow="fold")
    for category in policy.catalog.categories:
        style, name = ("red", "permanent") if category.permanent else ("green", "transient")
        words = ", ".join(category.words)
        shown = (
            Text(name, style=style),
            Text(category.team or ""),
            _text(words),
            _text(_spans(category.codes)),
        )
        table.add_row(_text(category.name), *shown)
    return table


def _spans(codes: tuple[str, ...]) -> str:
    """`TISS 1001-1002, 1011; HTTP 400` for the codes one by one."""
    schemes: dict[str, list[list[str]]] = {}
    for scheme, _, code in (code.partition(":") for code in codes):
        spans = schemes.setdefault(scheme, [])
        follows = bool(spans) and code.isdecimal() and int(code) == int(spans[-1][-1]) + 1
        spans[-1:] = [[spans[-1][0], code]] if follows else [*spans[-1:], [code]]
    return "; ".join(
        f"{scheme} {', '.join('-'.join(span) for span in spans)}" for scheme, spans in schemes.items()
    )


def _payers(policy: Policy) -> RenderableType:
    lines = [
        _text(f"Payer {payer} has its own settings: {own.label}, leaves {_left(own)}")
        for payer, own in policy.payers.items()
    ]
    return Group(*lines)


def _text(words: str) -> Text:
    return Text(printable_line(words))


def _bar(start: float, end: float, style: str) -> Text:
    first = round(start * BAR)
    last = max(round(end * BAR), first + 1)
    return Text(" " * first + "\N{FULL BLOCK}" * (last - first), style=style)
