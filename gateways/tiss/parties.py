"""Who speaks to whom: the provider (hospital) and the payer (operadora), as messages name them."""

from dataclasses import dataclass, field
from typing import Literal

from lxml import etree

from gateways.tiss.names import ans

ProviderKind = Literal["CNPJ", "CPF", "codigoPrestadorNaOperadora"]
_IN_BODY = {"CNPJ": "cnpjContratado", "CPF": "cpfContratado"}


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


def add(parent: etree._Element, name: str, text: str | None = None) -> etree._Element:
    """A new child in the standard's namespace."""
    child = etree.SubElement(parent, ans(name))
    child.text = text
    return child


def add_party(parent: etree._Element, party: Party) -> None:
    """How a header names sender and receiver."""
    match party:
        case Provider(kind, value):
            add(add(parent, "identificacaoPrestador"), kind, value)
        case Payer(registro_ans):
            add(parent, "registroANS", registro_ans)


def add_provider_data(parent: etree._Element, provider: Provider) -> None:
    """How a body names the provider: the same numbers under other names."""
    add(add(parent, "dadosPrestador"), _IN_BODY.get(provider.kind, provider.kind), provider.value)
