"""What of a batch's file is about one person: for access requests; a login never leaves with it."""

from collections.abc import Iterable
from dataclasses import dataclass

from lxml import etree

from domain.errors import Trouble
from domain.intake import MAX_FILE_BYTES
from gateways.tiss.names import local
from gateways.tiss.xml import XmlLimits, as_text, parse

CREDENTIALS = frozenset({"loginSenhaPrestador", "loginPrestador", "senhaPrestador"})
CARD, GUIDE = "numeroCarteira", "numeroGuiaPrestador"
SHORTEST_NUMBER = 4


class ExcerptRefusedError(Trouble):
    """It is not clear whose guides are wanted."""


@dataclass(frozen=True, slots=True)
class WantedPerson:
    """Whose guides: of the person with this card, or of the one a guide is about; or of all in the batch."""

    card: str | None = None
    guide: str | None = None
    whole_batch: bool = False


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The file as it may be handed over, and the numbers of others that nothing else may tell."""

    text: str
    others: frozenset[str] = frozenset()

    def without_others(self, line: str) -> str:
        """A line of another record, without the guides and cards of other persons."""
        for number in sorted(self.others, key=len, reverse=True):
            line = line.replace(number, "[of another person]")
        return line


def excerpt(data: bytes, wanted: WantedPerson) -> Excerpt:
    """The file without logins, and with the guides of one person only."""
    root = parse(data, XmlLimits(MAX_FILE_BYTES))
    guides = [guide for holder in _named(root, {"guiasTISS"}) for guide in holder]
    others = [] if wanted.whole_batch else _of_others(guides, wanted)
    gone = [*others, *_named(root, CREDENTIALS)]
    kept = {number for guide in guides if guide not in others for number in _numbers(guide)}
    told = frozenset(number for guide in others for number in _numbers(guide))
    for element in gone:
        if (parent := element.getparent()) is not None:
            parent.remove(element)
    text = etree.tostring(root, encoding="unicode") if gone else as_text(data)
    return Excerpt(text, frozenset(number for number in told - kept if len(number) >= SHORTEST_NUMBER))


def _of_others(guides: list[etree._Element], wanted: WantedPerson) -> list[etree._Element]:
    card = wanted.card or _card_of_guide(guides, wanted.guide)
    persons = {_text(guide, CARD) for guide in guides}
    if card is None and wanted.guide is None and len(persons) > 1:
        raise ExcerptRefusedError(
            f"The batch has guides of {len(persons)} persons: name one by --card or --guide; "
            "--whole-batch is for who may see them all."
        )
    own = [guide for guide in guides if _is_wanted(guide, card, wanted.guide)]
    if not own:
        raise ExcerptRefusedError("The batch has no guide of that person: compare --card or --guide.")
    return [guide for guide in guides if guide not in own]


def _is_wanted(guide: etree._Element, card: str | None, number: str | None) -> bool:
    if card is not None:
        return _text(guide, CARD) == card
    return number is None or _text(guide, GUIDE) == number


def _card_of_guide(guides: list[etree._Element], number: str | None) -> str | None:
    found = [_text(guide, CARD) for guide in guides if number and _text(guide, GUIDE) == number]
    return found[0] or None if found else None


def _numbers(guide: etree._Element) -> Iterable[str]:
    return filter(None, (_text(guide, GUIDE), _text(guide, CARD)))


def _text(guide: etree._Element, name: str) -> str:
    found = next(iter(_named(guide, {name})), None)
    return (found.text or "").strip() if found is not None else ""


def _named(root: etree._Element, names: Iterable[str]) -> list[etree._Element]:
    wanted = frozenset(names)
    return [element for element in root.iter() if local(str(element.tag)) in wanted]
