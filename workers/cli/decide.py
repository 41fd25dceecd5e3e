"""`reenvio decide`: the decision for one failed submission, and why."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from domain.decision import Decision, Retry, decide
from domain.errors import DomainError, InvalidInput
from domain.inputs import read_request
from domain.outputs import bpmn_error, output_variables
from domain.policy import GiveUp, Policy
from workers.policy import load_policy
from workers.policy.explain import explain
from workers.policy.overrides import effective_policy

EXIT_REJECTED = 2
EXIT_BPMN_ERROR = 3


def decide_command(
    claim_id: Annotated[str, typer.Option(help="The claim, for example CLM-001-123.")],
    error: Annotated[str, typer.Option(help="The error text of the failed submission.")],
    retry_count: Annotated[str, typer.Option(help="Retries made so far.")] = "0",
    error_code: Annotated[str | None, typer.Option(help="Structured code, for example TISS:3160.")] = None,
    last_submission_time: Annotated[str | None, typer.Option(help="ISO 8601, with or without zone.")] = None,
    profile: Annotated[str | None, typer.Option(help="RN-BIL-004 or RN-BIL-005.")] = None,
    payer: Annotated[str | None, typer.Option(help="Apply this payer's own settings.")] = None,
    header: Annotated[list[str] | None, typer.Option(help="Task header NAME=VALUE; repeatable.")] = None,
    now: Annotated[str | None, typer.Option(help="Decide as if it were this time (ISO 8601).")] = None,
    policy: Annotated[Path | None, typer.Option(envvar="REENVIO_POLICY", help="Policy file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the process variables.")] = False,
) -> None:
    """Decide on one failed submission and explain it. Exit 0: retry; 3: BPMN error; 2: rejected input."""
    variables = {
        "claimId": claim_id,
        "submissionError": error,
        "submissionErrorCode": error_code,
        "retryCount": _number(retry_count),
        "lastSubmissionTime": last_submission_time,
    }
    try:
        narrowed = _narrowed(load_policy(policy), profile, payer, header or [])
        decision = decide(read_request(variables, narrowed), narrowed, _time(now, narrowed))
    except DomainError as problem:
        raise typer.Exit(_reject(problem, as_json=as_json)) from None
    print_it = _print_json if as_json else _print_why
    print_it(decision, narrowed)
    raise typer.Exit(EXIT_BPMN_ERROR if _throws(decision, narrowed) else 0)


def _narrowed(policy: Policy, profile: str | None, payer: str | None, headers: list[str]) -> Policy:
    chosen = policy.under(profile) if profile else policy
    pairs = (header.partition("=") for header in headers)
    return effective_policy(chosen, payer, {name.strip(): value for name, _, value in pairs})


def _number(text: str) -> object:
    try:
        return json.loads(text) if text.strip().lstrip("-").replace(".", "", 1).isdecimal() else text
    except ValueError:
        return text


def _time(text: str | None, policy: Policy) -> datetime:
    if text is None:
        return datetime.now(UTC)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            "Option --now",
            f'"{text[:40]}"',
            rule="ISO 8601",
            problem="it is no date and time",
            remedy="Write it like 2025-01-12T10:40:00Z.",
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=policy.zone)


def _throws(decision: Decision, policy: Policy) -> bool:
    return not isinstance(decision, Retry) and policy.on_give_up is GiveUp.THROW


def _variables(decision: Decision, policy: Policy) -> Mapping[str, object]:
    facts = {
        "errorClassification": decision.classification.value,
        "policyVersion": decision.policy_version,
    }
    if isinstance(decision, Retry) or policy.on_give_up is GiveUp.RETURN:
        return output_variables(decision, policy.profile) | facts
    error = bpmn_error(decision)
    return {"bpmnError": error.code, "message": error.message} | error.variables | facts


def _print_json(decision: Decision, policy: Policy) -> None:
    typer.echo(json.dumps(_variables(decision, policy), ensure_ascii=False, indent=2))


def _print_why(decision: Decision, policy: Policy) -> None:
    console = Console()
    console.print(_headline(decision, policy))
    table = Table.grid(padding=(0, 2))
    for name, sentence in explain(decision, policy):
        table.add_row(Text(f"  {name}", style="dim"), Text(sentence))
    console.print(table)
    if decision.warning:
        warning = f"  warning {decision.warning}: retried without being understood"
        console.print(Text(warning, style="yellow"))


def _headline(decision: Decision, policy: Policy) -> Text:
    about = Text(
        f"{decision.claim_id}  {policy.profile.name}  policy {decision.policy_version}\n", style="dim"
    )
    if isinstance(decision, Retry):
        return about.append(f"{decision.reason}, in {decision.backoff_minutes} min", style="bold green")
    verb = "throws" if policy.on_give_up is GiveUp.THROW else "returns shouldRetry = false for"
    return about.append(f"{decision.reason}: {verb} {bpmn_error(decision).code}", style="bold red")


def _reject(problem: DomainError, *, as_json: bool) -> int:
    if as_json:
        rule = problem.rule if isinstance(problem, InvalidInput) else None
        typer.echo(json.dumps({"rejected": str(problem), "rule": rule}, ensure_ascii=False, indent=2))
    else:
        typer.echo(f"Rejected: {problem}", err=True)
    return EXIT_REJECTED
