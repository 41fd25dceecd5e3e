"""The standard's own table of refusals (Tabela 38): codes and their official meanings."""

import csv
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

UNKNOWN = "a code that the standard does not know"
_TABLE = Path(__file__).parent / "tables" / "tabela38.csv"
_CODE = re.compile(r"\d{4}", re.ASCII)


@cache
def tabela38() -> Mapping[str, str]:
    """Meaning by code; the schema's codes and those of later releases."""
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return MappingProxyType({row["code"]: row["meaning"] for row in csv.DictReader(file)})


def glosa_code(text: str | None) -> str | None:
    """A code as the standard writes it; whatever else stands there is the payer's own text."""
    code = (text or "").strip()
    return code if _CODE.fullmatch(code) else None


def glosa_meaning(code: str) -> str:
    """What a code means, in the standard's words."""
    return tabela38().get(code, UNKNOWN)
