"""A hospital's morning on the console, and where each of its pages is found."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from domain.access import Permission, Role
from domain.bulk_orders import BulkAction
from domain.catalog import Team
from domain.kpis.definitions import KPIS
from domain.operators import attribution
from persistence.repositories.review_desk import DeskFilter
from tests.browser.visitor import login_of
from tests.support.board_scene import BoardScene
from tests.support.builders import NOW
from tests.support.console_scene import CARD, COAST, NORTH, SOUTH, ConsoleScene
from tests.support.console_stage import ConsoleStage
from tests.support.mails import keep_dead
from tests.support.waiting import eventually
from workers.claims.bulk_desk import BulkWish, Signer
from workers.console.guard import Page
from workers.console.routes import PAGES
from workers.console.words import LANGUAGES
from workers.policy import parse_policy
from workers.policy.writing import changed
from workers.upkeep.policy_trials import CLAIMS_MOST, Proposal, TriedLimits
from workers.upkeep.trial_runs import TrialRun

EVERYONE = "everyone"
NEITHER = re.compile(r"\.(csv|bpmn|toml)$|^/login/provider")
"""A file is no page, and what only leads to a provider and back is none."""
SHOWN = [page for page in PAGES if page.method == "GET" and not page.renews and not NEITHER.search(page.path)]


@dataclass(frozen=True, slots=True)
class Morning:
    """Where pages are that need to know what of; others are where their routes say."""

    places: Mapping[str, tuple[str, ...]]

    def addresses(self) -> Iterator[tuple[str, str | Role | None]]:
        """Every page with who sees most of it: somebody with all roles but one, or that one."""
        for page in SHOWN:
            for place in self.places.get(page.path, (page.path,)):
                yield place, who_sees(page)


def who_sees(page: Page) -> str | Role | None:
    """Nobody, who audits, or who may do all else."""
    if page.permission is None:
        return None
    return Role.AUDITOR if page.permission is Permission.SEE_AUDIT else EVERYONE


def everyone(language: str) -> str:
    """The login of who may all but audit, and reads this language."""
    return f"{EVERYONE}-{language}"


async def told(stage: ConsoleStage) -> Morning:
    """Tell it, let people in, and say where what is."""
    scene, board = ConsoleScene(stage.store, NOW), BoardScene(stage.store, NOW)
    await board.everything()
    await scene.everything()
    for language in LANGUAGES:
        await stage.person(everyone(language), set(Role) - {Role.AUDITOR}, language=language)
        await stage.person(login_of(Role.AUDITOR, language), {Role.AUDITOR}, language=language)
    waiting = await scene.waiting(NORTH, minutes=30, count=2)
    refused = await scene.in_review(NORTH, CARD, Team.REGISTRATION, hours=3, due=5)
    unknown = await scene.arrival_unknown(NORTH, hours=4)
    stuck = await scene.incident(NORTH)
    [letter] = await keep_dead(stage.store, [900], at=NOW)
    claims = tuple(f"/claims/{claim}" for claim in (waiting, refused, unknown, stuck))
    guest = await stage.person("guest", {Role.VIEWER})
    token = await stage.console.entrance.offer_link(guest)
    return Morning(
        _of_groups(await _ordered(stage))
        | {
            "/login/link": (f"/login/link?token={token}",),
            "/claims": ("/claims", "/claims?state=waiting&text=9", "/claims?text=nothing-like-it"),
            "/claims/{claim_id:path}": claims,
            "/claims/{claim_id}/process": (f"/claims/{waiting}/process",),
            "/policy/what-if/{run}": (f"/policy/what-if/{await _tried(stage)}",),
            "/payers/{payer_id:path}": (f"/payers/{SOUTH}", f"/payers/{COAST}"),
            "/letters/{outbox_id}": (f"/letters/{letter}",),
            "/indicators/{kpi}": tuple(f"/indicators/{one.name}?unit=day&day=2026-01-11" for one in KPIS[:2]),
            "/reports/{kind}/{first}": ("/reports/permanent/2026-01-11", "/reports/effectiveness/2026-01-05"),
            "/people/{login}": ("/people/guest",),
            "/audit/trail": (f"/audit/trail?claim={refused}",),
        }
    )


def _of_groups(bulk_id: int) -> dict[str, tuple[str, ...]]:
    acts = {
        f"/reviews/do/{action.lower().replace('_', '-')}": f"payer={COAST}"
        if action is not BulkAction.RESOLVE
        else "reason=INCIDENT"
        for action in BulkAction
    }
    return {path: (f"{path}?{query}",) for path, query in acts.items()} | {
        "/reviews": ("/reviews?team=all", "/reviews?team=OPERATIONS"),
        "/reviews/group": (f"/reviews/group?payer={COAST}", "/reviews/group?reason=INCIDENT"),
        "/reviews/bulk/{bulk_id}": (f"/reviews/bulk/{bulk_id}",),
        "/reviews/correct-files": (f"/reviews/correct-files?payer={COAST}",),
    }


async def _tried(stage: ConsoleStage) -> int:
    """The number of a what-if that is over: one retry less."""
    room = stage.console.policies
    found = await room.desk.in_force()
    text = changed(found.text, {"limits.max_retries": 4, "version": "tried"})
    proposal = Proposal(found.policy, parse_policy(text), TriedLimits())
    run = TrialRun("Rui (rui, console)", NOW, proposal, text, found.mark)
    number = room.runs.begin(run, partial(room.trials.run, proposal, CLAIMS_MOST))
    await eventually(partial(_is_over, run))
    return number


async def _is_over(run: TrialRun) -> bool:
    return run.is_over


async def _ordered(stage: ConsoleStage) -> int:
    """A write-off that waits for a second person."""
    wanted, desk = DeskFilter(team=Team.BILLING_MANAGEMENT), stage.console.bulk
    preview = await desk.preview(BulkAction.WRITE_OFF, wanted)
    wish = BulkWish(
        BulkAction.WRITE_OFF,
        wanted,
        "/reviews/group?team=BILLING_MANAGEMENT",
        preview.mark,
        needs_second=True,
    )
    placed = await desk.place(wish, Signer("rui", attribution("Rui (rui, console)", "contrato encerrado")))
    assert isinstance(placed, int)
    return placed
