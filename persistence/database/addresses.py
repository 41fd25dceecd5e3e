"""Addresses of databases; naming one opens and imports nothing."""

from pathlib import Path


def sqlite_url(file: Path) -> str:
    """The address of an SQLite file."""
    return f"sqlite+aiosqlite:///{file}"
