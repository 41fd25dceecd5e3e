"""Who speaks to whom: the provider (hospital) and the payer (operadora), as messages name them."""

from dataclasses import dataclass, field
from typing import Literal

ProviderKind = Literal["CNPJ", "CPF", "codigoPrestadorNaOperadora"]


@dataclass(frozen=True, slots=True)
class Provider:
    """The hospital, by one of the three numbers the standard allows."""

    kind: ProviderKind
    value: str


@dataclass(frozen=True, slots=True)
class Payer:
    """The insurer, by its registration with ANS."""

    registro_ans: str


@dataclass(frozen=True, slots=True)
class Login:
    """The provider's account with the payer; the password travels as MD5 hex."""

    name: str
    password_md5: str = field(repr=False)


Party = Provider | Payer
