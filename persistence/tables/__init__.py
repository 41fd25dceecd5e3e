"""The tables; every name and constraint is explicit, so that migrations can speak of them."""

from persistence.tables.adoptions import adopted_policies
from persistence.tables.audit import audit_anchors, audit_events, audit_permits, policies
from persistence.tables.base import metadata
from persistence.tables.bulk_orders import bulk_items, bulk_orders, review_assignees
from persistence.tables.claims import (
    claim_events,
    claim_guides,
    claim_payloads,
    claim_texts,
    claims,
    notices,
    reviews,
    submission_attempts,
)
from persistence.tables.decisions import retry_decisions
from persistence.tables.idempotency import idempotency_records
from persistence.tables.kpis import first_rounds, kpi_snapshots
from persistence.tables.mail import dead_letters, mails
from persistence.tables.mail_limits import mail_lanes, mail_meters, mail_permits, tenant_figures
from persistence.tables.operators import operator_orders
from persistence.tables.outbox import leases, outbox
from persistence.tables.payers import payer_sends, payer_status, payer_waits
from persistence.tables.people import login_links, login_trials, people, people_sessions, saved_filters
from persistence.tables.retention import error_statistics, legal_holds
from persistence.tables.standing import standing_still
from persistence.tables.upkeep import upkeep_runs

__all__ = [
    "adopted_policies",
    "audit_anchors",
    "audit_events",
    "audit_permits",
    "bulk_items",
    "bulk_orders",
    "claim_events",
    "claim_guides",
    "claim_payloads",
    "claim_texts",
    "claims",
    "dead_letters",
    "error_statistics",
    "first_rounds",
    "idempotency_records",
    "kpi_snapshots",
    "leases",
    "legal_holds",
    "login_links",
    "login_trials",
    "mail_lanes",
    "mail_meters",
    "mail_permits",
    "mails",
    "metadata",
    "notices",
    "operator_orders",
    "outbox",
    "payer_sends",
    "payer_status",
    "payer_waits",
    "people",
    "people_sessions",
    "policies",
    "retry_decisions",
    "review_assignees",
    "reviews",
    "saved_filters",
    "standing_still",
    "submission_attempts",
    "tenant_figures",
    "upkeep_runs",
]
