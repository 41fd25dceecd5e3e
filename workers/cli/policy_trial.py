"""`reenvio policy what-if`: the stored claims played by another policy, beside the one in force."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from domain.kpis.definitions import Kpi, Measure, Target
from domain.kpis.wording import target_told, told
from domain.what_if.figures import PlayFigures
from domain.what_if.history import Ending
from persistence.store import Store
from workers.app.cluster import clock_here
from workers.cli.database import with_store
from workers.cli.output import tell
from workers.cli.policy import one_line_errors
from workers.cli.tables import print_table
from workers.config.settings import Settings, read_settings
from workers.payers.file import configured
from workers.payers.limits import limits_by_payer
from workers.policy import PolicySource, load_policy
from workers.upkeep.policy_desk import PolicyDesk
from workers.upkeep.policy_trials import CLAIMS_MOST, PolicyTrials, Proposal, Trial, TriedLimits

FilePath = Annotated[
    Path | None, typer.Argument(help="The policy file to try; without it the one in force, with the options.")
]
MostOption = Annotated[int, typer.Option("--claims", min=1, max=50_000, help="How many claims, the newest.")]
PaceOption = Annotated[int | None, typer.Option("--per-minute", min=1, help="Try this pace at all payers.")]
ThresholdOption = Annotated[
    int | None, typer.Option("--failures", min=1, help="Try a breaker that opens at so many failures.")
]
WaitOption = Annotated[
    int | None, typer.Option("--first-wait", min=1, help="Try this first wait of the breaker, in minutes.")
]
UNKNOWN = (
    "What it cannot know: when a payer really came back (the middle of what was seen is taken); what it "
    "would have answered to sends that were never made (as it answered last, or taken); waits that a payer "
    "asked for, probes, people who sent a claim early, and claims before the oldest one played."
)


def what_if(
    file: FilePath = None,
    most: MostOption = CLAIMS_MOST,
    per_minute: PaceOption = None,
    failures: ThresholdOption = None,
    first_wait: WaitOption = None,
) -> None:
    """Play the stored claims by another policy, beside the one in force; nothing is changed.

    Pace and breaker are set in PAYERS_FILE: they are tried here, and adopted there.
    """
    settings = read_settings()
    tried = TriedLimits(per_minute, failures, timedelta(minutes=first_wait) if first_wait else None)

    async def go(store: Store) -> None:
        found = await PolicyDesk(
            store, PolicySource(settings.policy_file), clock_here(settings, store)
        ).in_force()
        then = load_policy(file) if file else found.policy
        trials = _trials(store, settings)
        _print(await trials.run(Proposal(found.policy, then, tried), most), found.policy.label, then.label)

    with one_line_errors():
        with_store(go, settings)


def _trials(store: Store, settings: Settings) -> PolicyTrials:
    limits = limits_by_payer(configured(settings.payers.file, settings.environment))
    return PolicyTrials(store, clock_here(settings, store), limits)


def _print(trial: Trial, now: str, then: str) -> None:
    if not trial.history.claims:
        tell("No claim was sent yet: there is nothing to play.")
        return
    names = ("", "really", f"played by {now}", f"played by {then}")
    print_table(names, [*map(_row(trial), ROWS), *_kpis(trial)])
    same = trial.agreement
    tell(
        f"Played as it was decided, {same.same_ending} of {same.failed} claims that failed end as they "
        f"really did, {same.same_sends} with as many sends."
    )
    cut = (
        f"The newest {len(trial.history.claims)} claims were played; there are more. " if trial.is_cut else ""
    )
    tell(f"{cut}{trial.then.unsure} of {trial.then.sends} sends were answered by guess. {UNKNOWN}")


Row = tuple[str, Callable[[PlayFigures], object]]
ROWS: Sequence[Row] = (
    ("claims", lambda found: found.claims),
    ("taken", lambda found: found.taken),
    ("recovered by a retry", lambda found: found.recovered),
    ("permanent", lambda found: found.endings.get(Ending.PERMANENT, 0)),
    ("retries spent", lambda found: found.endings.get(Ending.RETRIES, 0)),
    ("deadline", lambda found: found.endings.get(Ending.DEADLINE, 0)),
    ("not over", lambda found: found.endings.get(Ending.RUNNING, 0) + found.endings.get(Ending.STANDS, 0)),
    ("sends", lambda found: found.sends),
    ("sends per claim", lambda found: f"{float(found.sends_per_claim or 0):.2f}"),
    (
        "most sends in a minute",
        lambda found: f"{found.peak.sends} ({found.peak.payer_id})" if found.peak else "-",
    ),
)


def _row(trial: Trial) -> Callable[[Row], Sequence[str]]:
    return lambda row: (row[0], *(str(row[1](part)) for part in (trial.real, trial.now, trial.then)))


def _kpis(trial: Trial) -> Sequence[Sequence[str]]:
    parts = zip(trial.real.kpis, trial.now.kpis, trial.then.kpis, strict=True)
    return [
        (
            f"{kpi.name} {target.rule} {target_told(target, kpi.unit)}",
            *_judged(kpi, target, [real, now, then]),
        )
        for (kpi, real), (_, now), (_, then) in parts
        for target in kpi.targets
    ]


def _judged(kpi: Kpi, target: Target, measures: Sequence[Measure]) -> Sequence[str]:
    marks = {True: "met", False: "missed", None: ""}
    return [f"{told(one.value, kpi.unit)} {marks[target.is_met(one)]}".strip() for one in measures]
