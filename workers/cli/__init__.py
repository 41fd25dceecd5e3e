"""The command line: `reenvio`."""


def main() -> None:
    """Run `reenvio`; what it needs is imported here, so that importing this package does nothing."""
    import sys

    from workers.cli.app import build
    from workers.cli.errors import plain_errors, require_text

    with plain_errors():
        require_text(sys.argv[1:])
        build()()
