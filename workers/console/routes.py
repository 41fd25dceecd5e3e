"""All routes in one table: what is asked for, what answers, and who may ask."""

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from domain.access import Permission
from domain.bulk_orders import NEEDS, BulkAction
from workers.claims.corrected_files import FILES_MOST
from workers.config.oidc import BACK_PATH
from workers.console.board_routes import BOARD_PAGES
from workers.console.errors import Surprises, handlers_of
from workers.console.guard import Page, guarded
from workers.console.pages.account import account_page, choose_language
from workers.console.pages.bulk import (
    PATHS,
    bulk_page,
    bulk_part,
    confirm_bulk,
    history_page,
    place_of,
    preview_of,
    stop_bulk,
)
from workers.console.pages.claim import cancel_claim, claim_page, claim_words, wake_claim
from workers.console.pages.claim_care import change_deadline, hold, release, undo_deadline, undo_holding
from workers.console.pages.claim_process import process_model, process_page
from workers.console.pages.claim_review import (
    as_seen,
    assign_review,
    correct_claim,
    note_claim,
    recover_protocol,
    resend_claim,
    write_off_claim,
)
from workers.console.pages.claims import claims_export, claims_page
from workers.console.pages.corrected_files import files_page, hand_in_files, release_files
from workers.console.pages.login import by_link, link_page, log_in, log_out, login_page
from workers.console.pages.provider_login import from_provider, to_provider
from workers.console.pages.reviews import group_page, reviews_page
from workers.console.pages.saved_filters import forget_filter, keep_filter
from workers.console.pages.today import home, today_part
from workers.console.pages.visit import Console
from workers.console.security import OwnHost, SecurityHeaders
from workers.console.views.rendering import STATIC, templates

REVIEW_PAGES = (
    Page("GET", "/reviews", reviews_page, Permission.SEE_WORK),
    Page("GET", "/reviews/group", group_page, Permission.SEE_WORK),
    *(Page("GET", PATHS[action], preview_of(action), NEEDS[action]) for action in BulkAction),
    *(Page("POST", PATHS[action], place_of(action), NEEDS[action]) for action in BulkAction),
    Page("GET", "/reviews/bulk", history_page, Permission.SEE_WORK),
    Page("GET", "/reviews/bulk/{bulk_id}", bulk_page, Permission.SEE_WORK),
    Page("GET", "/reviews/bulk/{bulk_id}/live", bulk_part, Permission.SEE_WORK, renews=True),
    Page("POST", "/reviews/bulk/{bulk_id}/confirm", confirm_bulk, Permission.WRITE_OFF_CLAIMS),
    Page("POST", "/reviews/bulk/{bulk_id}/stop", stop_bulk, Permission.HANDLE_REVIEWS),
    Page("POST", "/saved-filters", keep_filter, Permission.SEE_WORK),
    Page("POST", "/saved-filters/{filter_id}/forget", forget_filter, Permission.SEE_WORK),
    Page("POST", "/claims/{claim_id}/resend", as_seen(resend_claim), Permission.DECIDE_REVIEWS),
    Page(
        "POST",
        "/claims/{claim_id}/correct",
        as_seen(correct_claim),
        Permission.CORRECT_CLAIMS,
        takes_file=True,
    ),
    Page("POST", "/claims/{claim_id}/protocol", as_seen(recover_protocol), Permission.DECIDE_REVIEWS),
    Page("POST", "/claims/{claim_id}/write-off", as_seen(write_off_claim), Permission.WRITE_OFF_CLAIMS),
    Page("POST", "/claims/{claim_id}/assign", assign_review, Permission.HANDLE_REVIEWS),
    Page("POST", "/claims/{claim_id}/note", note_claim, Permission.HANDLE_REVIEWS),
)
CARE_PAGES = (
    Page("GET", "/reviews/correct-files", files_page, Permission.CORRECT_CLAIMS),
    Page(
        "POST",
        "/reviews/correct-files",
        hand_in_files,
        Permission.CORRECT_CLAIMS,
        takes_files=FILES_MOST,
    ),
    Page("POST", "/reviews/correct-files/release", release_files, Permission.CORRECT_CLAIMS),
    Page("GET", "/process/SUB_06.bpmn", process_model, Permission.SEE_WORK),
    Page("POST", "/claims/{claim_id}/deadline", change_deadline, Permission.CHANGE_DEADLINES),
    Page("POST", "/claims/{claim_id}/deadline/undo", undo_deadline, Permission.CHANGE_DEADLINES),
    Page("POST", "/claims/{claim_id}/hold", hold, Permission.HOLD_CLAIMS),
    Page("POST", "/claims/{claim_id}/release", release, Permission.HOLD_CLAIMS),
    Page("POST", "/claims/{claim_id}/hold/undo", undo_holding, Permission.HOLD_CLAIMS),
    Page("POST", "/claims/{claim_id}/words", claim_words, Permission.READ_PAYERS_WORDS),
)
PAGES = (
    Page("GET", "/login", login_page, None),
    Page("POST", "/login", log_in, None),
    Page("GET", "/login/link", link_page, None),
    Page("POST", "/login/link", by_link, None),
    Page("GET", "/login/provider", to_provider, None),
    Page("GET", BACK_PATH, from_provider, None),
    Page("GET", "/", home, Permission.OWN_ACCOUNT),
    Page("GET", "/today/live", today_part, Permission.SEE_WORK, renews=True),
    Page("GET", "/claims", claims_page, Permission.SEE_WORK),
    Page("GET", "/claims.csv", claims_export, Permission.EXPORT_WORK),
    Page("GET", "/claims/{claim_id}/process", process_page, Permission.SEE_WORK),
    Page("GET", "/claims/{claim_id:path}", claim_page, Permission.SEE_WORK),
    Page("POST", "/claims/{claim_id}/retry-now", as_seen(wake_claim), Permission.WAKE_CLAIMS),
    Page("POST", "/claims/{claim_id}/cancel", as_seen(cancel_claim), Permission.CANCEL_CLAIMS),
    Page("POST", "/logout", log_out, Permission.OWN_ACCOUNT),
    Page("GET", "/account", account_page, Permission.OWN_ACCOUNT),
    Page("POST", "/account/language", choose_language, Permission.OWN_ACCOUNT),
    *REVIEW_PAGES,
    *CARE_PAGES,
    *BOARD_PAGES,
)
ASSETS = frozenset(
    {"console.css", "console.js", "htmx.min.js", "icon.svg"}
    | {"bpmn-viewer.min.js", "diagram-js.css", "diagram.js"}
)
KEPT = "public, max-age=31536000, immutable"


def console_app(console: Console) -> Starlette:
    """The application; templates are read now, so that nobody waits for it later."""
    for name in templates().list_templates():
        templates().get_template(name)
    routes = [Route(page.path, guarded(page, console), methods=[page.method]) for page in PAGES]
    return Starlette(
        routes=[*routes, Route("/static/{name}", _static)],
        middleware=[
            Middleware(SecurityHeaders, is_encrypted=console.settings.is_encrypted),
            Middleware(OwnHost, settings=console.settings),
            Middleware(Surprises, console=console),
        ],
        exception_handlers=handlers_of(console),
    )


async def _static(request: Request) -> Response:
    """A file that every page may use, by its name alone."""
    name = request.path_params["name"]
    if name not in ASSETS:
        return Response(status_code=404)
    return FileResponse(STATIC / name, headers={"Cache-Control": KEPT})
