"""What-if: other numbers or another file, tried on the stored claims before anybody adopts them."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from starlette.responses import Response

from domain.access import Permission
from domain.errors import InvalidPolicy, Trouble
from domain.limit_rules import LONGEST_SECONDS, SHORTEST_SECONDS
from domain.policy import Policy
from workers.console.pages.policy import PATH, kind_of, next_version, reason_of
from workers.console.pages.visit import Visit, go, render, times_of
from workers.console.views.policy_board import advice_lines, decimal
from workers.console.views.policy_changes import change_lines
from workers.console.views.policy_trial import trial_sheet
from workers.policy import parse_policy
from workers.policy.following import UnreadableAdoption
from workers.policy.tools.diff import diff
from workers.policy.tools.lint import lint
from workers.policy.writing import changed
from workers.upkeep.policy_desk import AdoptionRefused, InForce
from workers.upkeep.policy_trials import CLAIMS_MOST, Proposal, TriedLimits
from workers.upkeep.trial_runs import TrialRun

TRIAL_PATH = f"{PATH}/what-if"
LIMITS = {
    "max_retries": "max_retries",
    "base_minutes": "base_seconds",
    "min_minutes": "floor_seconds",
    "max_minutes": "cap_seconds",
    "factor": "factor",
    "reserve_minutes": "reserve_seconds",
}
"""The numbers of the form as a policy file names them, and as the policy does."""
PAYER_FIELDS = ("per_minute", "failures", "first_wait", "longest_wait")
MOST = 525_600
VERSION = re.compile(r"[\w.\-]{1,40}")
FILE_MOST = 100_000
"""Bytes of a file; the packaged policy has a sixth of it."""


class UnreadableNumber(Trouble):
    """A field that holds no number that fits."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a proposal is not tried: what the checks say, which field is no number, or what is to be mended."""

    problems: tuple[str, ...] = ()
    field: str = ""
    hints: tuple[str, ...] = ()


async def trial_form(visit: Visit) -> Response:
    """The important numbers to change, and a place for a file."""
    return _form(visit, await visit.console.policies.desk.in_force())


def _form(visit: Visit, found: InForce, refused: Refused | None = None, said: str = "") -> Response:
    typed = visit.form or {}
    values = {name: typed.get(name, shown) for name, shown in _shown(found, visit).items()}
    return render(
        visit,
        "policy_trial.html",
        422 if refused else 200,
        found=found,
        fields=list(LIMITS),
        payer_fields=PAYER_FIELDS,
        values=values,
        refused=refused,
        said=said,
        most=CLAIMS_MOST,
    )


def _shown(found: InForce, visit: Visit) -> Mapping[str, str]:
    limits = found.policy.limits
    numbers = {
        name: getattr(limits, of) / (60 if of.endswith("_seconds") else 1) for name, of in LIMITS.items()
    }
    shown = {name: decimal(number, visit.words) for name, number in numbers.items()}
    return shown | dict.fromkeys(PAYER_FIELDS, "") | {"version": next_version(found)}


async def try_numbers(visit: Visit) -> Response:
    """Try the form's numbers."""
    found = await visit.console.policies.desk.in_force()
    try:
        changes, tried = _changes(visit, found), _tried(visit)
        version = visit.field("version").strip()
        text = changed(found.text, {**changes, "version": version}) if changes else found.text
        return await _begun(visit, found, text, tried)
    except UnreadableNumber as wrong:
        return _form(visit, found, Refused(field=wrong.name))


def _hints(visit: Visit) -> tuple[str, ...]:
    """What of the form's numbers the checks would not take, by the names of its words; none of a file."""
    try:
        given = {name: _number(visit, name, is_whole=_is_whole(name)) for name in LIMITS}
    except UnreadableNumber:
        return ()
    low, base, high = (given[f"{name}_minutes"] for name in ("min", "base", "max"))
    fits = {
        "retries": 1 <= given["max_retries"] <= 5,
        "order": low <= base <= high,
        "waits": low * 60 >= SHORTEST_SECONDS and high * 60 <= LONGEST_SECONDS,
        "room": low <= high * 0.8,
        "factor": given["factor"] <= 10,
        "version": VERSION.fullmatch(visit.field("version").strip()),
    }
    return tuple(name for name, is_fit in fits.items() if not is_fit)


def _changes(visit: Visit, found: InForce) -> Mapping[str, object]:
    """What the form says otherwise than the policy in force."""
    shown = _shown(found, visit)
    names = [name for name in LIMITS if visit.field(name).strip() != shown[name]]
    return {f"limits.{name}": _number(visit, name, is_whole=_is_whole(name)) for name in names}


def _is_whole(name: str) -> bool:
    return not name.endswith("_minutes")


def _tried(visit: Visit) -> TriedLimits:
    asked = {
        name: int(_number(visit, name, is_whole=True)) for name in PAYER_FIELDS if visit.field(name).strip()
    }
    waits = {name: timedelta(minutes=asked[name]) for name in ("first_wait", "longest_wait") if name in asked}
    return TriedLimits(asked.get("per_minute"), asked.get("failures"), **waits)


def _number(visit: Visit, name: str, *, is_whole: bool) -> int | float:
    text = visit.field(name).strip().replace(",", ".")
    is_number = text.isascii() and len(text) < 12 and text.replace(".", "", 1).isdigit()
    value = float(text) if is_number else 0.0
    if not 0 < value <= MOST or (is_whole and value != int(value)):
        raise UnreadableNumber(name)
    return int(value) if is_whole or value == int(value) else value


async def try_file(visit: Visit) -> Response:
    """Try a whole file."""
    found = await visit.console.policies.desk.in_force()
    if len(visit.file) > FILE_MOST:
        return _form(visit, found, Refused(field="file"))
    try:
        return await _begun(visit, found, visit.file.decode("utf-8"), TriedLimits())
    except UnicodeDecodeError:
        return _form(visit, found, Refused(field="file"))


async def _begun(visit: Visit, found: InForce, text: str, tried: TriedLimits) -> Response:
    """Begin the trial in the background, and on to its page."""
    room = visit.console.policies
    try:
        proposal = Proposal(found.policy, parse_policy(text), tried)
    except InvalidPolicy as refused:
        return _form(visit, found, Refused(refused.problems, hints=_hints(visit)))
    if room.runs.is_busy:
        return _form(visit, found, said="busy")
    run = TrialRun(visit.person.signature, visit.now, proposal, text, found.mark)
    number = room.runs.begin(run, partial(room.trials.run, proposal, CLAIMS_MOST))
    return go(f"{TRIAL_PATH}/{number}")


async def trial_page(visit: Visit) -> Response:
    """How a trial goes, and what came of it."""
    run = _run(visit)
    if run is None:
        return render(visit, "error.html", 404, message="trial.gone", status=404)
    now, then = run.proposal.now, run.proposal.then
    words, room = visit.words, visit.console.policies
    return render(
        visit,
        "policy_result.html",
        changes=change_lines(diff(now, then), words),
        advice=advice_lines(await asyncio.to_thread(lint, then, room.idempotency), words),
        may_adopt=visit.may(Permission.ADOPT_POLICY) and then.label != now.label,
        is_same=then.label == now.label,
        refused=await _refused(visit, run, then),
        **_state(visit, run),
    )


async def trial_part(visit: Visit) -> Response:
    """How a trial goes, for the page that renews itself; over, the whole page is asked for."""
    run = _run(visit)
    if run is None or run.is_over:
        return Response(status_code=204, headers={"HX-Refresh": "true"})
    return render(visit, "policy_progress.html", **_state(visit, run))


def _state(visit: Visit, run: TrialRun) -> dict[str, object]:
    trial = run.trial
    return {
        "run": run,
        "path": f"{TRIAL_PATH}/{visit.request.path_params['run']}",
        "begun": times_of(visit).at(run.begun_at),
        "sheet": trial_sheet(trial, visit.words) if trial else None,
    }


async def _refused(visit: Visit, run: TrialRun, then: Policy) -> str:
    """Why it could not be adopted as it is, if so: said before anybody writes a reason."""
    if then.label == run.proposal.now.label:
        return ""
    try:
        await visit.console.policies.desk.checked(run.text)
    except (AdoptionRefused, InvalidPolicy) as refused:
        return kind_of(refused)
    return ""


def _run(visit: Visit) -> TrialRun | None:
    text = visit.request.path_params["run"]
    is_number = text.isascii() and text.isdigit() and len(text) < 16
    return visit.console.policies.runs.find(int(text)) if is_number else None


async def adopt_policy(visit: Visit) -> Response:
    """Bring what was tried into force, in place of the policy it was tried against."""
    run, given = _run(visit), reason_of(visit)
    if run is None:
        return go(PATH, said="gone")
    path = f"{TRIAL_PATH}/{visit.request.path_params['run']}"
    if given is None:
        return go(path, said="no_reason")
    try:
        await visit.console.policies.desk.adopt(run.text, given, seen=run.mark)
    except (AdoptionRefused, InvalidPolicy, UnreadableAdoption) as refused:
        return go(PATH, said=kind_of(refused))
    return go(PATH, said="adopted")
