"""The audit trail's signed beginning: made once, and noted in REENVIO_HOME, where no database reaches."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import structlog
from sqlalchemy.engine import make_url

from persistence.audit.anchors import Anchor
from persistence.store import Store, Transaction
from workers.config.settings import Settings

NOTE_CHARACTERS = 100
OWNER_ONLY = 0o600
log = structlog.get_logger(__name__)


async def begin_trail(settings: Settings, store: Store, *, upgraded: bool = False) -> None:
    """Sign the beginning of a trail that is empty or was `upgraded` just now; note the one there is."""
    begun = await store.look(lambda tx: tx.anchors.beginning())
    if begun is None:
        begun = await store.run(lambda tx: _begun(tx, upgraded=upgraded))
        if begun:
            log.info("audit_trail_begun", hash=begun.hash, events=begun.events, unsealed=begun.unsealed)
    if begun:
        note_beginning(settings, begun)


async def _begun(tx: Transaction, *, upgraded: bool) -> Anchor | None:
    return await tx.anchors.begin_if_new(await tx.time(), upgraded=upgraded)


def note_beginning(settings: Settings, begun: Anchor, *, anew: bool = False) -> None:
    """Keep its hash; one that is noted stays, unless a person ordered to begin `anew`."""
    file = note_file(settings)
    how = os.O_TRUNC if anew else os.O_EXCL
    with suppress(OSError):  # a home that cannot be written holds no note
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | how, OWNER_ONLY)
        with os.fdopen(descriptor, "w", encoding="ascii") as opened:
            opened.write(begun.hash)


def noted_beginning(settings: Settings) -> str | None:
    """The hash that was noted for this database, if one was."""
    try:
        with note_file(settings).open(encoding="ascii", errors="replace") as opened:
            return opened.read(NOTE_CHARACTERS).strip() or None
    except OSError:
        return None


def note_file(settings: Settings) -> Path:
    """Where the note about this database is, whoever connects to it."""
    url = make_url(settings.database)
    place = f"{url.get_backend_name()}|{url.host}|{url.port}|{url.database}"
    return settings.home / f"audit-{hashlib.sha256(place.encode()).hexdigest()[:12]}.beginning"
