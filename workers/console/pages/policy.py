"""The policy: the one in force, who adopted what, what changes between two, and its text."""

import asyncio

from starlette.responses import Response

from domain.access import Permission
from domain.errors import InvalidPolicy, Trouble
from domain.legible import is_text
from domain.operators import Attribution, attribution
from domain.policy import Policy
from persistence.repositories.adopted_policies import OWN_POLICY
from workers.console.pages.visit import Visit, go, render, times_of
from workers.console.views.policy_board import adoption_lines, advice_lines, payer_lines, sheet_of
from workers.console.views.policy_changes import change_lines
from workers.policy.following import UnreadableAdoption
from workers.policy.tools.diff import diff
from workers.policy.tools.lint import lint
from workers.upkeep.policy_desk import AdoptionRefused, InForce

PATH = "/policy"
SAID = {
    "adopted": "done",
    "undone": "done",
    "no_reason": "stopped",
    "gone": "stopped",
    "changed": "stopped",
    "same": "stopped",
    "version": "stopped",
    "zone": "stopped",
    "too_large": "stopped",
    "nothing_before": "stopped",
    "refused": "stopped",
}


async def policy_page(visit: Visit) -> Response:
    """The policy in force, in words."""
    room, words = visit.console.policies, visit.words
    found, history = await room.desk.in_force(), await room.desk.history()
    said = visit.request.query_params.get("said", "")
    limits = visit.console.limits
    return render(
        visit,
        "policy.html",
        found=found,
        sheet=sheet_of(found.policy, words),
        since=times_of(visit).at(found.adoption.at) if found.adoption else None,
        payers=payer_lines(limits.limits, found.policy, words),
        advice=advice_lines(await asyncio.to_thread(lint, found.policy, room.idempotency), words),
        history=adoption_lines(history, times_of(visit)),
        before=await _before(visit) if visit.may(Permission.ADOPT_POLICY) else None,
        said=said if said in SAID else "",
        tone=SAID.get(said, ""),
    )


async def _before(visit: Visit) -> Policy | None:
    """What an undo would bring back; nothing where that cannot be used."""
    try:
        found = await visit.console.policies.desk.before()
    except UnreadableAdoption:
        return None
    return found[0] if found else None


async def policy_file(visit: Visit) -> Response:
    """A policy as it is written, to keep or to change."""
    found = await _version(visit, "version")
    if found is None:
        return render(visit, "error.html", 404, message="policy.unknown", status=404)
    policy, text = found
    name = f'attachment; filename="policy-{policy.version}.toml"'
    return Response(text, media_type="application/toml", headers={"Content-Disposition": name})


async def compare_page(visit: Visit) -> Response:
    """What changes between two versions."""
    before, after = await _version(visit, "before"), await _version(visit, "after")
    if before is None or after is None:
        return render(visit, "error.html", 404, message="policy.unknown", status=404)
    lines = change_lines(diff(before[0], after[0]), visit.words)
    return render(visit, "policy_compare.html", before=before[0].label, after=after[0].label, lines=lines)


async def _version(visit: Visit, name: str) -> tuple[Policy, str] | None:
    """The version that the address names by its number; without one the policy in force."""
    desk, text = visit.console.policies.desk, visit.request.query_params.get(name, "")
    if not text:
        found = await desk.in_force()
        return found.policy, found.text
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return None
    try:
        return await desk.version(int(text) or OWN_POLICY)
    except UnreadableAdoption:
        return None


async def undo_policy(visit: Visit) -> Response:
    """Bring the one before back into force."""
    given = reason_of(visit)
    if given is None:
        return go(PATH, said="no_reason")
    try:
        await visit.console.policies.desk.undo(given, seen=visit.field("mark"))
    except (AdoptionRefused, InvalidPolicy, UnreadableAdoption) as refused:
        return go(PATH, said=kind_of(refused))
    return go(PATH, said="undone")


def reason_of(visit: Visit) -> Attribution | None:
    """Who asks, and why; None where they say nothing."""
    why = visit.field("reason")
    given = attribution(visit.person.signature, why)
    return given if given.reason and is_text(why) else None


def kind_of(refused: Trouble) -> str:
    """What the page says of a refusal."""
    kind = refused.kind if isinstance(refused, AdoptionRefused) else "refused"
    return kind if kind in SAID else "refused"


def next_version(found: InForce) -> str:
    """A name for the version after the one in force."""
    version = found.policy.version
    return str(int(version) + 1) if version.isdigit() and version.isascii() else f"{version}.1"[:40]
