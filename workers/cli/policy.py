"""`reenvio policy`: show, check, compare, draw, try and adopt retry policies."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from domain.errors import InvalidPolicy
from workers.cli.lazy import Entry, lazy_app
from workers.cli.output import tell
from workers.config.settings import read_idempotency_settings
from workers.policy import load_policy
from workers.policy.tools.diff import diff
from workers.policy.tools.lint import lint
from workers.policy.tools.plot import draw
from workers.policy.tools.terminal import advice_list, change_table, policy_tables, schedule

EXIT_FOUND = 1
EXIT_REJECTED = 2

policy_app = lazy_app(
    "Show, check, compare, draw, try and adopt retry policies.",
    {
        "show": Entry(
            "workers.cli.policy:show_command",
            "Read the policy aloud: limits, schedule, words and codes, payers.",
        ),
        "lint": Entry(
            "workers.cli.policy:lint_command",
            "Say what is wrong (exit 2) or unwise (exit 0, or 1 with --strict) about the policy.",
        ),
        "diff": Entry(
            "workers.cli.policy:diff_command",
            "Say what changes from one policy to another: waits, classes of words and codes.",
        ),
        "plot": Entry(
            "workers.cli.policy:plot_command",
            "Draw the schedule against outages: in the terminal, and as SVG with --output.",
        ),
        "what-if": Entry(
            "workers.cli.policy_trial:what_if",
            "Play the stored claims by another policy, beside the one in force; nothing is changed.",
        ),
        "adopt": Entry(
            "workers.cli.policy_orders:adopt",
            "Bring a policy into force in every process, on record with who and why.",
        ),
        "undo": Entry("workers.cli.policy_orders:undo", "Bring the policy before back into force."),
        "history": Entry(
            "workers.cli.policy_orders:history",
            "Which policy is in force, and who adopted what, when and why.",
        ),
    },
)

PolicyPath = Annotated[
    Path | None, typer.Argument(envvar="POLICY_FILE", help="A policy file; without it the packaged one.")
]


def show_command(file: PolicyPath = None) -> None:
    """Read the policy aloud: limits, schedule, words and codes, payers."""
    with one_line_errors():
        Console().print(policy_tables(load_policy(file)))


def lint_command(
    file: PolicyPath = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 when anything is unwise.")] = False,
) -> None:
    """Say what is wrong (exit 2) or unwise (exit 0, or 1 with --strict) about the policy."""
    with one_line_errors():
        policy = load_policy(file)
    advice = lint(policy, read_idempotency_settings())
    if not advice:
        tell(f"Policy {policy.label}: nothing to say.")
        return
    Console().print(advice_list(advice))
    tell(f"Policy {policy.label} is valid; {len(advice)} things to think about.")
    raise typer.Exit(EXIT_FOUND if strict else 0)


def diff_command(
    old: Annotated[Path, typer.Argument(help="The policy file before.")],
    new: Annotated[Path | None, typer.Argument(help="The file after; without it the packaged one.")] = None,
) -> None:
    """Say what changes from one policy to another: waits, classes of words and codes.

    Exit 1: they differ.
    """
    with one_line_errors():
        changes = diff(load_policy(old), load_policy(new))
    if not changes:
        tell("No difference.")
        return
    Console().print(change_table(changes))
    raise typer.Exit(EXIT_FOUND)


def plot_command(
    file: PolicyPath = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write an SVG picture here.")] = None,
) -> None:
    """Draw the schedule against outages: in the terminal, and as SVG with --output."""
    with one_line_errors():
        policy = load_policy(file)
    Console().print(schedule(policy))
    if output:
        _write(output, draw(policy))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        tell(f"Cannot write {path}: {error.strerror}. Name another file with --output.", err=True)
        raise typer.Exit(EXIT_REJECTED) from None
    tell(f"Wrote {path}.")


@contextmanager
def one_line_errors() -> Iterator[None]:
    """A policy that is not valid ends the command, each problem on a line."""
    try:
        yield
    except InvalidPolicy as error:
        for problem in error.problems:
            tell(f"Policy rejected: {problem}", err=True)
        raise typer.Exit(EXIT_REJECTED) from None
