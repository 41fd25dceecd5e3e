"""Files of ours are for their owner only; what was left open to others is closed at the start."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

import structlog

from persistence.database.engine import sqlite_files
from persistence.encryption.keys import KEY_FILE
from workers.config.settings import Settings

EVENTS_FILE = "events.jsonl"
OWNER_ONLY = {True: 0o700, False: 0o600}
log = structlog.get_logger(__name__)


def keep_private(settings: Settings) -> None:
    """Close our folders and files to everybody but their owner, however they were made."""
    for path in _ours(settings):
        _close(path)


def _ours(settings: Settings) -> Iterable[Path]:
    yield settings.home
    yield settings.home / KEY_FILE
    yield settings.home / EVENTS_FILE
    yield from sqlite_files(settings.database)
    if folder := settings.payers.trace_dir:
        yield folder
        yield from folder.glob("*.jsonl")


def _close(path: Path) -> None:
    try:
        status = path.stat()
    except OSError:
        return  # it is not there yet; whoever makes it makes it private
    mode = stat.S_IMODE(status.st_mode)
    if not mode & 0o077:
        return
    shared = bool(mode & stat.S_ISVTX)  # such as the system's folder for temporary files
    if shared or status.st_uid != os.geteuid():
        log.warning("open_to_others", path=str(path), mode=oct(mode), advice="choose a folder of our own")
        return
    path.chmod(OWNER_ONLY[stat.S_ISDIR(status.st_mode)])
    log.warning("made_private", path=str(path), was=oct(mode))
