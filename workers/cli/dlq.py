"""`reenvio dlq list | show | stats | redrive | export | purge`: mail that died."""

from domain.mail.names import DEAD_LETTER_QUEUE
from workers.cli.lazy import Entry, lazy_app

TABLE = {
    "list": Entry("workers.cli.dlq_list:list_letters", "The dead letters, oldest first."),
    "show": Entry(
        "workers.cli.dlq_show:show",
        "One dead letter, and what helps; what it was to say and the server's words stay sealed.",
    ),
    "stats": Entry(
        "workers.cli.dlq_list:stats",
        "How many, how fast they come in, of which codes and companies: the runbook's questions.",
    ),
    "redrive": Entry(
        "workers.cli.dlq_redrive:redrive",
        "Send dead letters again, a few first, then more; stops by itself when they fail again.",
    ),
    "export": Entry(
        "workers.cli.dlq_list:export",
        "Print dead letters as JSON lines, under the document's names; originalData stays sealed.",
    ),
    "purge": Entry(
        "workers.cli.dlq_purge:purge",
        "Remove dead letters before their seven days are over; not those on their way. Export them first.",
    ),
}
dlq_app = lazy_app(
    f"Dead letters ({DEAD_LETTER_QUEUE}), mail that died: see, send again, export or remove them.", TABLE
)
