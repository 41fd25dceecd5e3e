"""Elements of messages, and how headers and bodies name who speaks to whom."""

from lxml import etree

from gateways.tiss.names import ans
from gateways.tiss.parties import Party, Payer, Provider

_IN_BODY = {"CNPJ": "cnpjContratado", "CPF": "cpfContratado"}


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
