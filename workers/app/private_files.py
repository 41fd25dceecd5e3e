"""Files of ours are for their owner only; what was left open to others is closed at the start.

What is closed already is not opened: closing a file that SQLite has open in this process would end its locks.
Only what is surely ours is touched: a setting may name anything, and who runs us may own all of it. A key
file that others could read is not closed here but refused where it is read: it may be no secret any more.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

import structlog

from persistence.database.engine import sqlite_files
from workers.config.settings import Settings

EVENTS_FILE = "events.jsonl"
TRACES = "*-????-??-??.jsonl"
SQLITE_BEGINS = b"SQLite format 3\x00"
OTHERS = 0o077
OWNER_ONLY = 0o600
log = structlog.get_logger(__name__)


def keep_private(settings: Settings) -> None:
    """Close our files to everybody but their owner, however they were made."""
    for file in _files(settings):
        _close(file)


def tell_open_folders(settings: Settings) -> None:
    """A folder may be somebody else's too, so it is told of, and closed by who set it."""
    for folder in filter(None, (settings.home, settings.payers.trace_dir)):
        if folder.is_dir() and (mode := stat.S_IMODE(folder.stat().st_mode)) & OTHERS:
            advice = "chmod 700, if it is ours alone"
            log.warning("folder_open_to_others", path=str(folder), mode=oct(mode), advice=advice)


def _files(settings: Settings) -> Iterable[Path]:
    yield settings.home / EVENTS_FILE
    database = [file for file in sqlite_files(settings.database) if _is_open_to_others(file)]
    if database and _is_sqlite(sqlite_files(settings.database)[0]):
        yield from database
    if folder := settings.payers.trace_dir:
        yield from folder.glob(TRACES)


def _is_open_to_others(file: Path) -> bool:
    try:
        return bool(os.lstat(file).st_mode & OTHERS)
    except OSError:
        return False


def _is_sqlite(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(SQLITE_BEGINS)) == SQLITE_BEGINS
    except OSError:
        return False


def _close(file: Path) -> None:
    """A regular file under its one name, if it is our user's; never what a link leads to."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return  # it is not there, or not ours
    try:
        status = os.fstat(descriptor)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_uid == os.geteuid()
        if is_ours and status.st_mode & OTHERS:
            os.fchmod(descriptor, OWNER_ONLY)
            log.warning("made_private", path=str(file), was=oct(stat.S_IMODE(status.st_mode)))
    finally:
        os.close(descriptor)
