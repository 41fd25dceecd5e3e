"""Folders of ours: for their owner only, and so is whatever has to be made above them."""

from pathlib import Path


def private_folder(folder: Path) -> None:
    """Make the folder and what is missing above it; what is there already is left as it is."""
    for missing in [one for one in reversed((folder, *folder.parents)) if not one.exists()]:
        missing.mkdir(mode=0o700, exist_ok=True)
