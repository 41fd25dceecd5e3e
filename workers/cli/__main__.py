"""`python -m workers.cli` is `reenvio`."""

from workers.cli import main

main()
