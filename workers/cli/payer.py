"""`reenvio payer list | show | pause | resume | trip | probe`: see and steer what goes to whom."""

from workers.cli.lazy import Entry, lazy_app

TABLE = {
    "list": Entry(
        "workers.cli.payer_show:list_payers",
        "Every payer: state, why, next try, what is held and under way, pace, maintenance.",
    ),
    "show": Entry("workers.cli.payer_show:show", "All that is known about one payer's breaker and pace."),
    "pause": Entry(
        "workers.cli.payer_hold:pause",
        "Hold all claims of a payer, until a moment or until `resume`; no attempt is spent meanwhile.",
    ),
    "resume": Entry(
        "workers.cli.payer_release:resume",
        "Let claims go again: one tries the credentials first, then those that waited, by deadline.",
    ),
    "trip": Entry(
        "workers.cli.payer_hold:trip", "Open the breaker as an outage would; it tries again by itself."
    ),
    "probe": Entry(
        "workers.cli.payer_release:probe",
        "Do now what the maintenance process does every five minutes: look who is there, wake who is due.",
    ),
}
payer_app = lazy_app("See payers' health; hold their claims and let them go.", TABLE)
