"""`reenvio decide`: the decision for one failed submission, and why."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from domain.decision import Retry
from domain.durations import YEARS, read_duration
from domain.errors import DomainError, InvalidInput
from domain.outputs import error_code, iso_time
from domain.policy import Policy
from workers.cli.in_force import policy_here
from workers.cli.output import tell
from workers.policy.ruling import Question, Ruling, outcome_of, rule
from workers.policy.tools.explain import explain
from workers.runtime.outcome import Complete, Throw

EXIT_REJECTED = 2
EXIT_BPMN_ERROR = 3


def decide_command(
    claim_id: Annotated[str, typer.Option(help="The claim, for example CLM-001-123.")],
    error: Annotated[str, typer.Option(help="The error text of the failed submission.")],
    retry_count: Annotated[str, typer.Option(help="Retries made so far.")] = "0",
    error_code: Annotated[str | None, typer.Option(help="Structured code, for example TISS:3160.")] = None,
    last_submission_time: Annotated[str | None, typer.Option(help="ISO 8601, with or without zone.")] = None,
    deadline: Annotated[str | None, typer.Option(help="ISO 8601 or a duration such as 36h.")] = None,
    profile: Annotated[str | None, typer.Option(help="RN-BIL-004 or RN-BIL-005.")] = None,
    payer: Annotated[str | None, typer.Option(help="Apply this payer's own settings.")] = None,
    header: Annotated[list[str] | None, typer.Option(help="Task header NAME=VALUE; repeatable.")] = None,
    now: Annotated[str | None, typer.Option(help="Decide as if it were this time (ISO 8601).")] = None,
    policy: Annotated[Path | None, typer.Option(help="Policy file; without it the one in force.")] = None,
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
        here = policy_here(policy)
        chosen = here.policy.under(profile) if profile else here.policy
        moment = _time(now, chosen)
        question = Question(variables | _due(deadline, moment), _headers(header or []), payer)
        ruling = rule(question, chosen, moment)
    except DomainError as problem:
        raise typer.Exit(_reject(problem, as_json=as_json)) from None
    if here.told:
        tell(here.told, err=True)
    if payer and payer not in chosen.payers:
        tell("The policy has no settings of its own for that payer: those for all apply.", err=True)
    print_it = _print_json if as_json else _print_why
    print_it(ruling)
    raise typer.Exit(EXIT_BPMN_ERROR if isinstance(outcome_of(ruling), Throw) else 0)


def _headers(given: list[str]) -> dict[str, str]:
    pairs = [header.partition("=") for header in given]
    if any(not (name.strip() and sign) for name, sign, _ in pairs):
        raise InvalidInput(
            "Option --header",
            "a text without a name or without =",
            rule="task headers",
            problem="it is no header",
            remedy="Write NAME=VALUE, for example maxRetries=3.",
        )
    return {name.strip(): value for name, _, value in pairs}


def _due(text: str | None, now: datetime) -> dict[str, object]:
    """A duration counts from now; any other text is for the rule to judge."""
    try:
        duration = read_duration((text or "").strip())
        return {"deadline": text if duration is None else iso_time(now + duration)}
    except OverflowError:
        return {"deadline": text}


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
        raise _no_time(text, "it is no date and time") from None
    if time.year not in YEARS:
        raise _no_time(text, f"its year is not one of {YEARS[0]} to {YEARS[-1]}")
    return time if time.tzinfo else time.replace(tzinfo=policy.zone)


def _no_time(text: str, problem: str) -> InvalidInput:
    remedy = "Write it like 2025-01-12T10:40:00Z."
    return InvalidInput("Option --now", f'"{text[:40]}"', rule="ISO 8601", problem=problem, remedy=remedy)


def _variables(ruling: Ruling) -> dict[str, object]:
    facts: dict[str, object] = {
        "errorClassification": ruling.decision.classification.value,
        "policyVersion": ruling.decision.policy_version,
    }
    if left := ruling.decision.left_rules:
        facts["leftRules"] = list(left)
    match outcome_of(ruling):
        case Complete(variables):
            return variables | facts
        case Throw(code, message, variables):
            return {"bpmnError": code, "message": message} | variables | facts


def _print_json(ruling: Ruling) -> None:
    tell(json.dumps(_variables(ruling), ensure_ascii=False, indent=2))


def _print_why(ruling: Ruling) -> None:
    console = Console()
    console.print(_headline(ruling))
    table = Table.grid(padding=(0, 2))
    for name, sentence in explain(ruling.decision, ruling.policy):
        table.add_row(Text(f"  {name}", style="dim"), Text(sentence))
    console.print(table)
    if warning := ruling.decision.warning:
        console.print(Text(f"  warning {warning}: retried without being understood", style="yellow"))


def _headline(ruling: Ruling) -> Text:
    decision, profile = ruling.decision, ruling.policy.profile.name
    about = Text(f"{decision.claim_id}  {profile}  policy {decision.policy_version}\n", style="dim")
    if isinstance(decision, Retry):
        return about.append(f"{decision.reason}, in {decision.backoff_minutes} min", style="bold green")
    throws = isinstance(outcome_of(ruling), Throw)
    verb = "throws" if throws else "returns shouldRetry = false for"
    return about.append(f"{decision.reason}: {verb} {error_code(decision)}", style="bold red")


def _reject(problem: DomainError, *, as_json: bool) -> int:
    if as_json:
        rule = problem.rule if isinstance(problem, InvalidInput) else None
        tell(json.dumps({"rejected": str(problem), "rule": rule}, ensure_ascii=False, indent=2))
    else:
        tell(f"Rejected: {problem}", err=True)
    return EXIT_REJECTED
