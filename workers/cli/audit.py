"""`reenvio audit show | verify | anchor | begin | export | roles`: what was done, and whether it says so."""

from workers.cli.lazy import Entry, lazy_app

TABLE = {
    "show": Entry(
        "workers.cli.audit_trail:show",
        "A claim's audit events, in order; those of an instance whose input named no claim; "
        "a payer's orders.",
    ),
    "verify": Entry(
        "workers.cli.audit_trail:verify",
        "Recompute every hash, seal, wait and decision; exit 1 when anything is not as it was.",
    ),
    "begin": Entry(
        "workers.cli.audit_trail:begin",
        "Sign the trail as it is, where its beginning was lost or a key is: what was wrong before is let be.",
    ),
    "anchor": Entry(
        "workers.cli.audit_trail:anchor",
        "Print one signed line about the whole trail; keep it where nobody who can change the database can.",
    ),
    "roles": Entry(
        "workers.cli.audit_trail:roles",
        "Print the SQL of the two PostgreSQL roles: workers that append, and retention that removes.",
    ),
    "export": Entry(
        "workers.cli.audit_export:export",
        "What is kept about a claim, one person's guides in clear, as JSON Lines: for LGPD art. 18.",
    ),
}
audit_app = lazy_app("Show, verify, anchor and export the audit trail.", TABLE)
