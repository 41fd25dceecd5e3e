"""The routes of the boards: payers, mail, indicators, reports, people, audit, policy."""

from domain.access import Permission
from workers.console.guard import Page
from workers.console.pages.account import choose_password
from workers.console.pages.audit import audit_page, trail_page
from workers.console.pages.indicators import claims_behind, indicators_page
from workers.console.pages.letter_acts import (
    purge_all,
    purge_preview,
    redrive_all,
    redrive_one,
    redrive_preview,
)
from workers.console.pages.letters import letters_page, letters_progress, one_letter, read_letter
from workers.console.pages.payers import (
    one_payer,
    pause_payer,
    payers_page,
    probe_payer,
    resume_payer,
    trip_payer,
)
from workers.console.pages.people import (
    add_person,
    change_roles,
    disable_person,
    enable_person,
    give_link,
    give_password,
    people_page,
    person_page,
)
from workers.console.pages.policy import compare_page, policy_file, policy_page, undo_policy
from workers.console.pages.policy_trial import (
    adopt_policy,
    trial_form,
    trial_page,
    trial_part,
    try_file,
    try_numbers,
)
from workers.console.pages.reports import one_report, reports_page

BOARD_PAGES = (
    Page("POST", "/account/password", choose_password, Permission.OWN_ACCOUNT),
    Page("GET", "/payers", payers_page, Permission.SEE_WORK),
    Page("GET", "/payers/{payer_id:path}", one_payer, Permission.SEE_WORK),
    Page("POST", "/payers/{payer_id:path}/pause", pause_payer, Permission.STEER_PAYERS),
    Page("POST", "/payers/{payer_id:path}/resume", resume_payer, Permission.STEER_PAYERS),
    Page("POST", "/payers/{payer_id:path}/trip", trip_payer, Permission.STEER_PAYERS),
    Page("POST", "/payers/{payer_id:path}/probe", probe_payer, Permission.STEER_PAYERS),
    Page("GET", "/letters", letters_page, Permission.SEE_WORK),
    Page("GET", "/letters/progress", letters_progress, Permission.SEE_WORK, renews=True),
    Page("GET", "/letters/redrive", redrive_preview, Permission.STEER_MAIL),
    Page("POST", "/letters/redrive", redrive_all, Permission.STEER_MAIL),
    Page("GET", "/letters/purge", purge_preview, Permission.STEER_MAIL),
    Page("POST", "/letters/purge", purge_all, Permission.STEER_MAIL),
    Page("GET", "/letters/{outbox_id}", one_letter, Permission.SEE_WORK),
    Page("POST", "/letters/{outbox_id}/read", read_letter, Permission.READ_MAIL),
    Page("POST", "/letters/{outbox_id}/redrive", redrive_one, Permission.STEER_MAIL),
    Page("GET", "/indicators", indicators_page, Permission.SEE_WORK),
    Page("GET", "/indicators/{kpi}", claims_behind, Permission.SEE_WORK),
    Page("GET", "/reports", reports_page, Permission.SEE_REPORTS),
    Page("GET", "/reports/{kind}/{first}", one_report, Permission.SEE_REPORTS),
    Page("GET", "/people", people_page, Permission.MANAGE_PEOPLE),
    Page("POST", "/people", add_person, Permission.MANAGE_PEOPLE),
    Page("GET", "/people/{login}", person_page, Permission.MANAGE_PEOPLE),
    Page("POST", "/people/{login}/roles", change_roles, Permission.MANAGE_PEOPLE),
    Page("POST", "/people/{login}/disable", disable_person, Permission.MANAGE_PEOPLE),
    Page("POST", "/people/{login}/enable", enable_person, Permission.MANAGE_PEOPLE),
    Page("POST", "/people/{login}/password", give_password, Permission.MANAGE_PEOPLE),
    Page("POST", "/people/{login}/link", give_link, Permission.MANAGE_PEOPLE),
    Page("GET", "/audit", audit_page, Permission.SEE_AUDIT),
    Page("GET", "/audit/trail", trail_page, Permission.SEE_AUDIT),
    Page("GET", "/policy", policy_page, Permission.SEE_WORK),
    Page("GET", "/policy.toml", policy_file, Permission.SEE_WORK),
    Page("GET", "/policy/compare", compare_page, Permission.SEE_WORK),
    Page("POST", "/policy/undo", undo_policy, Permission.ADOPT_POLICY),
    Page("GET", "/policy/what-if", trial_form, Permission.TRY_POLICY),
    Page("POST", "/policy/what-if", try_numbers, Permission.TRY_POLICY),
    Page("POST", "/policy/what-if/file", try_file, Permission.TRY_POLICY, takes_file=True),
    Page("GET", "/policy/what-if/{run}", trial_page, Permission.TRY_POLICY),
    Page("GET", "/policy/what-if/{run}/live", trial_part, Permission.TRY_POLICY, renews=True),
    Page("POST", "/policy/what-if/{run}/adopt", adopt_policy, Permission.ADOPT_POLICY),
)
