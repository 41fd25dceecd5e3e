"""The command line: `reenvio`."""

import sys


def main() -> None:
    """Run `reenvio`; what it needs is imported here, so that importing this package does nothing."""
    from workers.cli.app import build
    from workers.cli.errors import guarded

    sys.exit(guarded(build()))
