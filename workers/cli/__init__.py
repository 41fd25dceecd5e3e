"""The command line: `reenvio`."""


def main() -> None:
    """Run `reenvio`; what it needs is imported here, so that importing this package does nothing."""
    from workers.cli.app import build
    from workers.cli.errors import plain_errors

    with plain_errors():
        build()()
