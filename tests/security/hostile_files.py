"""Files that are wrong in very many places, and one that is right and very large."""

import re
from collections.abc import Callable

from tests.support.tiss_samples import file_bytes, file_text, guide

_GUIDES = re.compile(r"<ans:guiasTISS>.*</ans:guiasTISS>", re.DOTALL)
_EMPTY = (
    "cabecalhoGuia",
    "dadosBeneficiario",
    "dadosSolicitante",
    "dadosSolicitacao",
    "dadosExecutante",
    "dadosAtendimento",
)


def with_guides(guides: str) -> bytes:
    """A file whose batch holds these guides."""
    return file_bytes(_GUIDES.sub(lambda _: f"<ans:guiasTISS>{guides}</ans:guiasTISS>", file_text()))


def _procedures(inside: str) -> bytes:
    before = "".join(f"<ans:{name}/>" for name in _EMPTY)
    held = f"<ans:procedimentosExecutados>{inside}</ans:procedimentosExecutados>"
    return with_guides(f"<ans:guiaSP-SADT>{before}{held}<ans:valorTotal/></ans:guiaSP-SADT>")


def bad_procedures(count: int) -> bytes:
    """Procedures side by side, each wrong: to say where one stands, all before it were counted."""
    return _procedures("<ans:procedimentoExecutado/>" * count)


def bad_procedures_with_texts(count: int) -> bytes:
    """The same, and each has a text where none belongs."""
    return _procedures("<ans:procedimentoExecutado>x</ans:procedimentoExecutado>" * count)


def bad_attributes(count: int) -> bytes:
    """One guide with very many attributes, none of them allowed."""
    given = " ".join(f'a{number}=""' for number in range(count))
    return with_guides(guide(1).replace("<ans:guiaConsulta>", f"<ans:guiaConsulta {given}>"))


def many_guides(count: int) -> bytes:
    """Far more guides than a batch may hold."""
    return with_guides("<ans:guiaConsulta/>" * count)


def many_namespaces(count: int) -> bytes:
    """A guide that declares very many namespaces."""
    given = " ".join(f'xmlns:n{number}="urn:{number}"' for number in range(count))
    return with_guides(guide(1).replace("<ans:guiaConsulta>", f"<ans:guiaConsulta {given}>"))


def unknown_elements(count: int) -> bytes:
    """Elements that no version knows."""
    return with_guides(guide(1) + "<ans:x/>" * count)


def large(guides: int, note: int) -> bytes:
    """A batch of guides, each with a note so long: as large as it is made."""
    text = guide(1).replace(
        "</ans:dadosAtendimento>", f"</ans:dadosAtendimento><ans:observacao>{'x' * note}</ans:observacao>"
    )
    return with_guides(text * guides)


HOSTILE: tuple[Callable[[int], bytes], ...] = (
    bad_procedures,
    bad_procedures_with_texts,
    bad_attributes,
    many_guides,
    many_namespaces,
    unknown_elements,
)
