"""The payer for practice: answers by a script, or accepts everything; only where somebody asked for it."""

from pathlib import Path

import structlog

from domain.inputs import PAYER_ID_SHAPE, is_payer_id
from domain.practice import PRACTICE_PREFIX
from domain.refusals import malformed, unprocessable
from gateways.practice.scripted import Script, ScriptedPayer, read_script
from workers.config.cluster import connection_from
from workers.config.settings import PayerFiles, Settings, SettingsError
from workers.payers.file import configured

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


def answers_here(settings: Settings) -> bool:
    """Whether a practice payer answers: one was asked for, or nothing is set, and `reenvio up` has one."""
    files = settings.payers
    own = files.file or settings.database_url or connection_from(settings.cluster)
    return files.practises or not own


def given_payer_id(text: str) -> str:
    """Whom a person names for a claim without a file."""
    if not is_payer_id(text):
        remedy = "Write it like operadora-norte."
        raise malformed("payer", "it has not the shape of a payer's id", rule=PAYER_ID_SHAPE, remedy=remedy)
    return text


def require_practice(settings: Settings, payer_id: str) -> None:
    """Refuse a claim without a file where no practice payer would answer it: a real one cannot take it."""
    if answers_here(settings):
        return
    if payer_id in configured(settings.payers.file, settings.environment):
        problem = f"{payer_id} is a payer of PAYERS_FILE, and takes claims with their file alone"
        remedy = f"Hand the file in: `reenvio claim submit FILE.xml --payer {payer_id}`."
    else:
        problem = f"{payer_id} is not configured, and no practice payer is switched on"
        remedy = (
            "Hand a file in with `reenvio claim submit`, or practise: PRACTICE_PAYER=true, no PAYERS_FILE."
        )
    raise unprocessable("payer", problem, rule="a claim without a file is for practice", remedy=remedy)


def _script(file: Path) -> Script:
    try:
        return read_script(file)
    except ValueError as error:
        raise SettingsError(f"PAYER_SCRIPT: {error}") from error
