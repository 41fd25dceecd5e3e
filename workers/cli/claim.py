"""`reenvio claim submit | start | list | show | ...`: claims from the command line."""

from workers.cli.lazy import Entry, lazy_app

TABLE = {
    "submit": Entry(
        "workers.cli.submit:submit", "Hand in claims as TISS files; the same file again changes nothing."
    ),
    "retry-now": Entry(
        "workers.cli.steer:retry_now",
        "Wake a waiting claim: it goes as soon as its payer takes it, and what is sent counts.",
    ),
    "cancel": Entry(
        "workers.cli.steer:cancel",
        "Cancel a claim that waits for its time or for a person, or stands on an incident; cannot be undone.",
    ),
    "resolve": Entry(
        "workers.cli.steer:resolve",
        "Let a claim that stands on an incident go on: "
        "its stuck task begins again, once the cause is mended.",
    ),
    "pending": Entry(
        "workers.cli.decided:pending",
        "Retries that claims wait for, soonest first; of other processes too, until their time has come.",
    ),
    "words": Entry(
        "workers.cli.words:words",
        "Show the words of payers and models, which may name patients; that you read them, and why, is kept.",
    ),
    "deadline": Entry(
        "workers.cli.claim_deadline:deadline",
        "Change until when a claim must be with its payer: its process decides by it from its next decision.",
    ),
    "start": Entry(
        "workers.cli.steer:start",
        "Start a claim without a file, for a practice payer; asking twice starts it once.",
    ),
    "list": Entry(
        "workers.cli.claim_show:list_claims",
        "The newest claims that we send, and where they stand; retries of other processes too: `pending`.",
    ),
    "show": Entry(
        "workers.cli.claim_show:show",
        "Where a claim stands, what was decided, and its story, event by event; whichever process sends it.",
    ),
    "protocol": Entry(
        "workers.cli.claim_review:protocol",
        "Ask the payer about the protocol of a claim that it has, and whether it is the claim's own.",
    ),
    "review": Entry(
        "workers.cli.claim_review:review",
        "Decide a claim in review: resend, corrected, write off, or protocol recovered.",
    ),
    "bulk": Entry(
        "workers.cli.claim_bulk:bulk",
        "Do the same to all claims in review, or on an incident, that fit: paced, and on record one by one.",
    ),
}
claim_app = lazy_app("Hand in, start, follow and steer claims.", TABLE)
