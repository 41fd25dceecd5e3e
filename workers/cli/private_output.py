"""Lines to the terminal, or into a file that is its owner's alone."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from workers.cli.output import written

OWNER_ONLY = 0o600
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", help="A file instead of the terminal.")]


def write(lines: Sequence[str], output: Path | None) -> None:
    """Write them where they are wanted."""
    if output is None:
        with written():
            sys.stdout.writelines(lines)
            sys.stdout.flush()
        return
    try:
        _write_privately(lines, output)
    except OSError as error:
        raise typer.BadParameter(
            f"{output} cannot be written ({error.strerror}): name another file."
        ) from error


def _write_privately(lines: Sequence[str], output: Path) -> None:
    """The file is its owner's alone before anything is in it, also where it was there before."""
    with os.fdopen(
        os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY), "w", encoding="utf-8"
    ) as file:
        if output.is_file():  # not a device, such as /dev/stdout
            output.chmod(OWNER_ONLY)
        file.writelines(lines)
