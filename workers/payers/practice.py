"""The payer for practice: answers by a script, or accepts everything."""

from pathlib import Path

import structlog

from gateways.practice.scripted import Script, ScriptedPayer, read_script
from workers.config.settings import PayerFiles, SettingsError

log = structlog.get_logger(__name__)


def practice_payer(files: PayerFiles) -> ScriptedPayer | None:
    """The scripted payer, unless real ones are configured."""
    if files.file is None:
        return ScriptedPayer(_script(files.script))
    if files.script is not None:
        raise SettingsError("PAYERS_FILE and PAYER_SCRIPT are both set: unset the one you do not mean.")
    return None


def _script(file: Path | None) -> Script:
    if file is None:
        log.warning(
            "practice_payer", advice="no payer is configured: every claim is accepted, nothing leaves"
        )
        return Script()
    try:
        return read_script(file)
    except ValueError as error:
        raise SettingsError(f"PAYER_SCRIPT: {error}") from error
