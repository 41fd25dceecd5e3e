"""The figures and the aims, as people read them."""

from collections.abc import Collection, Mapping

from rich.table import Table

from tests.bench.aims import AIMS, Verdict, judge
from tests.bench.figures import Summary
from tests.bench.names import IN_WORDS, Name

_COLUMNS = (
    "worker",
    "rounds",
    "jobs/s",
    "CPU ms per job",
    "broker ms per job",
    "p50 ms",
    "p99 ms",
    "no result",
)
_COLOURS = {
    Verdict.MET: "green",
    Verdict.NOT_MET: "red",
    Verdict.UNKNOWN: "yellow",
    Verdict.TOO_FEW: "yellow",
}


def figures_table(
    chosen: Collection[Name], summaries: Mapping[Name, Summary], missing: Mapping[Name, str]
) -> Table:
    """One row for each contender that was asked for; one that could not run says why."""
    table = Table(title="Medians (lowest-highest) over the rounds", title_justify="left")
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column == "worker" else "right")
    for name in Name:
        if name in chosen:
            table.add_row(IN_WORDS[name], *_cells(summaries.get(name)))
    if missing:
        table.caption = "\n".join(f"{IN_WORDS[name]}: not measured, {why}" for name, why in missing.items())
        table.caption_justify = "left"
    return table


def aims_table(summaries: Mapping[Name, Summary]) -> Table:
    """Our workers against each aim."""
    table = Table("aim", "measured", "verdict", title="Aims of the runtime", title_justify="left")
    for aim in AIMS:
        judged = judge(aim, summaries)
        ratio = "-" if judged.ratio is None else f"{judged.ratio:.2f} x"
        table.add_row(aim.text, ratio, f"[{_COLOURS[judged.verdict]}]{judged.verdict}[/]")
    return table


def _cells(summary: Summary | None) -> tuple[str, ...]:
    if summary is None:
        return ("0", *("not measured" for _ in _COLUMNS[2:-1]), "-")
    figures = (
        summary.jobs_per_second,
        summary.cpu_ms_per_job,
        summary.broker_ms_per_job,
        summary.p50_ms,
        summary.p99_ms,
    )
    return (str(summary.rounds), *map(str, figures), str(summary.unanswered))
