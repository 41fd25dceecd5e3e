"""Who gets mail: the people of each group, and of each company."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from domain.catalog import Team
from workers.config.mail import COMPANY_ID, Address, is_address
from workers.config.topic import SettingsError

Addresses = tuple[str, ...]
_Company = Annotated[str, StringConstraints(pattern=COMPANY_ID)]
_Listed = Annotated[list[Address], Field(min_length=1)]
_COMPANIES: TypeAdapter[dict[str, list[Address]]] = TypeAdapter(dict[_Company, _Listed])


_WRITE = 'write id = ["a@b.c"], an id of letters, digits, . _ and -, with one address or more.'


class OtherGroup(StrEnum):
    """Groups that no decision names: whoever runs Reenvio, and the company that a mail is about."""

    ADMINISTRATOR = "ADMINISTRATOR"
    COMPANY = "COMPANY"


class ReportGroup(StrEnum):
    """Who gets control reports beside billing management (RN-BIL-004 7.2, RN-BIL-005 7.2)."""

    DATA_ANALYSIS = "DATA_ANALYSIS"
    QUALITY = "QUALITY"
    BILLING = "BILLING"
    IT_MANAGEMENT = "IT_MANAGEMENT"


GROUPS = frozenset({*Team, *OtherGroup, *ReportGroup})


@dataclass(frozen=True, slots=True)
class Recipients:
    """Addresses by group and by company."""

    groups: Mapping[str, Addresses] = field(default_factory=dict)
    companies: Mapping[str, Addresses] = field(default_factory=dict)

    def of(self, recipient: str, company_id: str) -> Addresses:
        """The addresses of a recipient, which may be one itself; none where nobody is named."""
        if is_address(recipient):
            return (recipient,)
        if recipient == OtherGroup.COMPANY:
            return self.companies.get(company_id, ())
        return self.groups.get(recipient, ())


def read_companies(file: Path | None) -> Mapping[str, Addresses]:
    """The addresses of companies, from a TOML file of lists: `company-1 = ["faturamento@..."]`."""
    if file is None:
        return {}
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
        return {company: tuple(to) for company, to in _COMPANIES.validate_python(given).items()}
    except ValidationError as error:
        where = " ".join(str(part) for part in error.errors()[0]["loc"][:1])[:64]
        raise SettingsError(f"MAIL_COMPANIES_FILE: {file}, {where!r}: {_WRITE}") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(
            f"MAIL_COMPANIES_FILE: {file} cannot be used ({type(error).__name__}): {_WRITE}"
        ) from error
