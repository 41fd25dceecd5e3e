"""Exchanges in files, for support: without persons, one file per payer and day, for its owner only."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote

import structlog

from gateways.tiss.exchange import Exchange, ExchangeListener

log = structlog.get_logger(__name__)


def trace_into(folder: Path, payer_id: str) -> ExchangeListener:
    """Appends one line of JSON per exchange; the folder is made if it is missing."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def write(exchange: Exchange) -> None:
        try:
            _append(folder / f"{quote(payer_id, safe='')}-{exchange.at:%Y-%m-%d}.jsonl", _line(exchange))
        except OSError as error:  # the answer has come: a full disk must not make it a lost one
            log.warning("payer_trace_failed", payer=payer_id, why=error.strerror)

    return write


def _line(exchange: Exchange) -> bytes:
    fields = asdict(exchange) | {"at": exchange.at.isoformat()}
    return (json.dumps(fields, ensure_ascii=False) + "\n").encode()


def _append(file: Path, line: bytes) -> None:
    opened = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.fchmod(opened, 0o600)  # also where the file was there before
        os.write(opened, line)
    finally:
        os.close(opened)
