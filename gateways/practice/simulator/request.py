"""What a request asks of the simulated payer."""

import re
from dataclasses import dataclass

from lxml import etree

from gateways.tiss.names import ans, local
from gateways.tiss.parties import Provider
from gateways.tiss.xml import XmlLimits, XmlRefusedError, parse

MAX_REQUEST_BYTES = 50_000_000
OPERATIONS = {"loteGuiasWS", "solicitacaoStatusProtocoloWS", "cancelaGuiaWS"}
_LOTE = re.compile(rb"numeroLote>\s*([^<\s]{1,40})\s*<")


@dataclass(frozen=True, slots=True)
class Asked:
    """One message, with the parts a payer looks at."""

    operation: str
    xml: etree._Element
    registro_ans: str
    version: str
    provider: str
    login: str
    password: str
    lote: str | None
    protocol: str | None
    guides: tuple[str, ...]
    guide_count: int

    @property
    def party(self) -> Provider:
        """The provider as the receipt names it."""
        return Provider("codigoPrestadorNaOperadora", self.provider)


def read_request(body: bytes) -> Asked | None:
    """The message in the envelope; None when it is none of ours."""
    try:
        message = parse(body, XmlLimits(MAX_REQUEST_BYTES)).find("{*}Body/{*}*")
    except XmlRefusedError:
        return None
    if message is None or local(str(message.tag)) not in OPERATIONS:
        return None
    guides = message.findall(f".//{ans('guiasTISS')}/*")
    return Asked(
        operation=local(str(message.tag)),
        xml=message,
        registro_ans=_text(message, "cabecalho/destino/registroANS"),
        version=_text(message, "cabecalho/Padrao"),
        provider=_provider(message),
        login=_text(message, "cabecalho/loginSenhaPrestador/loginPrestador"),
        password=_text(message, "cabecalho/loginSenhaPrestador/senhaPrestador"),
        lote=_text(message, ".//numeroLote") or None,
        protocol=_text(message, ".//numeroProtocolo") or None,
        guides=tuple(_text(guide, ".//numeroGuiaPrestador") for guide in guides),
        guide_count=len(guides),
    )


def lote_in(body: bytes) -> str | None:
    """The batch number by a glance at the bytes: enough to follow a script."""
    match = _LOTE.search(body)
    return match[1].decode("ascii", "replace") if match else None


def _provider(message: etree._Element) -> str:
    holder = message.find(f"{ans('cabecalho')}/{ans('origem')}/{ans('identificacaoPrestador')}")
    return ((holder[0].text or "").strip() if holder is not None and len(holder) else "")[:14]


def _text(element: etree._Element, path: str) -> str:
    steps = (step if step in (".", "") else ans(step) for step in path.split("/"))
    found = element.find("/".join(steps))
    return (found.text or "").strip() if found is not None else ""
