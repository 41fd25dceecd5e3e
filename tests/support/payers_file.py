"""Payer settings as a file."""

from pathlib import Path


def payers_file(folder: Path, text: str) -> Path:
    """A PAYERS_FILE with this text."""
    file = folder / "payers.toml"
    file.write_text(text, encoding="utf-8")
    return file
