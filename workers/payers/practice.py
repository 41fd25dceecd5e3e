"""The payer for practice: answers by a script, or accepts everything; only where somebody asked for it."""

from pathlib import Path

import structlog

from domain.practice import PRACTICE_PREFIX
from gateways.practice.scripted import Script, ScriptedPayer, read_script
from workers.config.settings import PayerFiles, SettingsError

ADVICE = f"claims without a file are answered here, no claim leaves; protocols begin with {PRACTICE_PREFIX}"
log = structlog.get_logger(__name__)


def practice_payer(files: PayerFiles) -> ScriptedPayer | None:
    """The scripted payer where it is switched on; never beside real ones."""
    if not files.practises:
        return None
    if files.file is not None:
        switch = "PAYER_SCRIPT" if files.script else "PRACTICE_PAYER"
        raise SettingsError(f"PAYERS_FILE and {switch} are both set: unset the one you do not mean.")
    log.warning("practice_payer", advice=ADVICE)
    return ScriptedPayer(_script(files.script) if files.script else Script())


def require_payers(files: PayerFiles) -> None:
    """Refuse to send or to take claims in where nobody said to whom."""
    if files.file is None and not files.practises:
        raise SettingsError(
            "No payers are set, so no claim can be sent: set PAYERS_FILE to the file that describes them, "
            "or PRACTICE_PAYER=true for a payer that only plays one (no claim leaves, protocols are made up)."
        )


def _script(file: Path) -> Script:
    try:
        return read_script(file)
    except ValueError as error:
        raise SettingsError(f"PAYER_SCRIPT: {error}") from error
