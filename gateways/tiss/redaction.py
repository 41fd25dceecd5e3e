"""Takes personal data out of messages: by XML path, and by the values a batch is known to hold."""

import re
from collections.abc import Iterable
from copy import deepcopy

from lxml import etree

from domain.catalog import plain
from domain.check_digits import holds_personal
from domain.redaction import REMOVED, shorten
from gateways.tiss.names import FaultWord, TransactionKind, local

# everything not listed is removed: a new version's new field is personal until somebody says otherwise
_KEPT = frozenset(
    {
        "tipoTransacao",
        "sequencialTransacao",
        "dataRegistroTransacao",
        "horaRegistroTransacao",
        "falhaNegocio",
        "registroANS",
        "identificacaoOperadora",
        "Padrao",
        "numeroLote",
        "numeroProtocolo",
        "numeroprotocolo",
        "numeroGuiaPrestador",
        "numeroGuiaOperadora",
        "codigoGlosa",
        "dataEnvioLote",
        "statusProtocolo",
        "statusCancelamento",
        "tissFault",
        "faultcode",
        "hash",
        "valorTotalProtocolo",
        "vlGlosaProtocolo",
        "valorProcessado",
        "valorGlosa",
        "valorLiberado",
    }
)
_PREFIX, _SIDE = (
    "soap|soapenv|SOAP-ENV|env|s|S",
    "Client|Server|Sender|Receiver|VersionMismatch|MustUnderstand",
)
_FORMS = {  # of those that are not numbers
    "tipoTransacao": re.compile("|".join(TransactionKind)),
    "tissFault": re.compile("|".join(FaultWord)),
    "faultcode": re.compile(rf"(?:(?:{_PREFIX}):)?(?:{_SIDE})"),
    "hash": re.compile(r"[0-9A-Fa-f]{32}", re.ASCII),
}
_PERSONAL = frozenset(
    {
        "numeroCarteira",
        "identificadorBeneficiario",
        "nomeBeneficiario",
        "nomeSocialBeneficiario",
        "numeroCNS",
        "cpfContratado",
        "CPF",
        "nomeProfissional",
        "nomeContratado",
        "senha",
        "loginPrestador",
        "senhaPrestador",
        "dataNascimento",
        "telefone",
        "email",
        "diagnosticoCID",
        "observacao",
        "indicacaoClinica",
    }
)
_PLAIN = re.compile(r"[A-Za-z0-9.:_\-]{1,40}", re.ASCII)
_SHORTEST = 4


def redacted_xml(root: etree._Element, limit: int = 4_000) -> str:
    """The message's structure with its codes and business numbers; every other text is gone."""
    copy = deepcopy(root)
    for element in copy.iter():
        element.attrib.clear()
        element.tail = None
        element.text = _shown(element)
    etree.cleanup_namespaces(copy)
    return shorten(etree.tostring(copy, encoding="unicode"), limit)


def personal_values(batch: etree._Element) -> frozenset[str]:
    """What a batch holds about persons, to be found again in texts."""
    texts = ((element.text or "").strip() for element in batch.iter() if local(str(element.tag)) in _PERSONAL)
    return frozenset(text for text in texts if len(text) >= _SHORTEST)


def without(text: str, values: Iterable[str]) -> str:
    """A text without these values, in whatever case and accents they are written."""
    folded = plain(text)
    if len(folded) != len(text):  # a letter that folds into two would shift every position
        text = folded
    for value in sorted((value for value in map(plain, values) if value in folded), key=len, reverse=True):
        for match in reversed(list(re.finditer(re.escape(value), folded))):
            text = text[: match.start()] + REMOVED + text[match.end() :]
            folded = folded[: match.start()] + REMOVED + folded[match.end() :]
    return text


def _shown(element: etree._Element) -> str | None:
    text = (element.text or "").strip()
    if len(element) or not text:
        return None
    return text if _is_business(local(str(element.tag)), text) else REMOVED


def _is_business(name: str, text: str) -> bool:
    if form := _FORMS.get(name):
        return form.fullmatch(text) is not None
    digits, letters = (sum(map(kind, text)) for kind in (str.isdigit, str.isalpha))
    is_number = digits > letters and _PLAIN.fullmatch(text) is not None
    return name in _KEPT and is_number and not holds_personal(text)
