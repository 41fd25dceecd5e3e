"""`reenvio engine`: start, stop, status, logs and clock of the embedded broker."""

from workers.cli.lazy import Entry, lazy_app

TABLE = {
    "start": Entry(
        "workers.cli.engine_broker:start",
        "Start the broker, or find it running; the first time it is downloaded (about 300 MB).",
    ),
    "stop": Entry("workers.cli.engine_broker:stop", "Stop the broker; its data stays for the next start."),
    "status": Entry(
        "workers.cli.engine_broker:status",
        "Say whether the broker runs and where it listens; exit code 3 when it or a part of it does not.",
    ),
    "logs": Entry("workers.cli.engine_broker:logs", "Show the end of the broker's log."),
    "clock": Entry("workers.cli.engine_clock:clock_app", "The embedded broker's clock."),
}
engine_app = lazy_app("The embedded Zeebe broker.", TABLE)
