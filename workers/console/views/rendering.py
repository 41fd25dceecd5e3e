"""Templates to HTML: everything that is put in is escaped, and a name that is missing is an error."""

import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

CONSOLE = Path(__file__).parents[1]
STATIC = CONSOLE / "static"


@cache
def templates() -> Environment:
    """The templates of the console."""
    return Environment(
        loader=FileSystemLoader(CONSOLE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def asset(name: str) -> str:
    """The address of a static file, which changes with its content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"
