"""The payers of PAYERS_FILE, as it describes them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from gateways.tiss.settings import PayerSettings, PayerSettingsError, read_payers
from workers.config.settings import SettingsError

NO_SECRETS: Mapping[str, str] = MappingProxyType({})


def configured(file: Path | None, environment: Mapping[str, str] = NO_SECRETS) -> Mapping[str, PayerSettings]:
    """The payers of the file; none without a file."""
    with payers_file_named():
        return read_payers(file, environment) if file else {}


@contextmanager
def payers_file_named() -> Iterator[None]:
    """Faults of the payers' settings say where they stand."""
    try:
        yield
    except PayerSettingsError as error:
        raise SettingsError(f"PAYERS_FILE: {error}") from error
