"""Several corrected files at once: handed in, judged file by file, and released together."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.responses import Response

from domain.bulk_orders import BulkAction, BulkRefusal
from domain.claim import ClaimIdForm
from domain.legible import is_text, printable_line
from domain.operators import attribution
from persistence.repositories.review_desk import DeskFilter
from workers.claims.bulk_desk import BulkPreview, BulkWish
from workers.claims.corrected_files import FILES_MOST, CorrectedFiles, FileFate, JudgedFile
from workers.console.pages.bulk import signer_of
from workers.console.pages.reviews import group_title
from workers.console.pages.visit import Visit, go, render, times_of
from workers.console.views.bulk import preview_sentence, share_rows
from workers.console.views.file_faults import FaultRow, fault_rows, problem_of
from workers.console.views.reviews import QUERY_MOST, AskedDesk, read_desk

NAME_MOST = 120


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file, as the page tells of it."""

    name: str
    claim_id: str
    text: str
    is_kept: bool
    faults: Sequence[FaultRow]


async def files_page(visit: Visit) -> Response:
    """The form."""
    return _form(visit, read_desk(visit.request.query_params))


async def hand_in_files(visit: Visit) -> Response:
    """Keep what fits with its claims, tell what is wrong with the rest, and what releasing would do."""
    asked, why = _asked(visit), visit.field("reason")
    given = attribution(visit.person.signature, why)
    if not given.reason or not is_text(why):
        return _form(visit, asked, 400, "no_reason")
    if not visit.files:
        return _form(visit, asked, 400, "no_file")
    desk = CorrectedFiles(visit.console.reviews)
    judged = await desk.keep_all(visit.files, asked.payer or None, given)
    kept = [one.claim_id for one in judged if one.fate is FileFate.KEPT]
    return await _told(visit, asked, kept, judged)


async def release_files(visit: Visit) -> Response:
    """Release the claims whose files were kept, if they are still those that were seen."""
    asked, why = _asked(visit), visit.field("reason")
    claims = [one for one in visit.field("claims").split() if ClaimIdForm.CLM.fits(one)][:FILES_MOST]
    signer = signer_of(visit, why)
    if not signer.given.reason or not is_text(why):
        return await _told(visit, asked, claims, problem="no_reason")
    wanted = DeskFilter(claim_ids=frozenset(claims))
    wish = BulkWish(BulkAction.CORRECTED, wanted, asked.address(), visit.field("mark"))
    try:
        placed = await visit.console.bulk.place(wish, signer)
    except BulkRefusal as refusal:
        return await _told(visit, asked, claims, problem=refusal.why)
    if isinstance(placed, BulkPreview):
        return await _told(visit, asked, claims, problem="changed")
    return go(f"/reviews/bulk/{placed}")


def _asked(visit: Visit) -> AskedDesk:
    return read_desk(dict(parse_qsl(visit.field("selection")[:QUERY_MOST])))


def _form(visit: Visit, asked: AskedDesk, status: int = 200, problem: str = "") -> Response:
    return render(visit, "corrected_files.html", status, problem=problem, **_frame(visit, asked))


async def _told(
    visit: Visit,
    asked: AskedDesk,
    claims: Sequence[str],
    judged: Sequence[JudgedFile] = (),
    problem: str = "",
) -> Response:
    wanted = DeskFilter(claim_ids=frozenset(claims))
    preview = await visit.console.bulk.preview(BulkAction.CORRECTED, wanted)
    times = times_of(visit)
    return render(
        visit,
        "corrected_files_told.html",
        409 if problem else 200,
        rows=[_row(one, visit) for one in judged],
        refused=sum(one.fate is not FileFate.KEPT for one in judged),
        preview=preview,
        sentence=preview_sentence(preview, times),
        shares=share_rows(preview, times),
        claims=" ".join(claims),
        problem=problem,
        before=visit.field("number") if visit.field("number").isdecimal() else "",
        **_frame(visit, asked),
    )


def _frame(visit: Visit, asked: AskedDesk) -> dict[str, object]:
    return {
        "asked": asked,
        "title": group_title(asked, visit),
        "selection": asked.address("").removeprefix("?"),
        "most": FILES_MOST,
        "reason": visit.field("reason")[:500],
    }


def _row(one: JudgedFile, visit: Visit) -> FileRow:
    words, refusal = visit.words, one.refusal
    return FileRow(
        name=printable_line(one.name)[:NAME_MOST],
        claim_id=one.claim_id,
        text=problem_of(refusal, words) if refusal else words(f"files_fate.{one.fate}"),
        is_kept=one.fate is FileFate.KEPT,
        faults=fault_rows(refusal, words) if refusal else (),
    )
