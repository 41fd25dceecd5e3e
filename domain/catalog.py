"""The catalog of errors: which words and codes are transient, which are permanent; data from the policy."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

_ACCENTS = re.compile("[\u0300-\u036f]+")
_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015\u2212]+")
_SMALL_WORDS = re.compile(r"_(?:E|ESTA|ESTAO|FOI|FORAM|SAO|IS|ARE|WAS|WERE|HAS|HAVE|BEEN)(?=_)")
_JOINT = re.compile(r"(?<=[a-z])(?=[A-Z])")

REFUSED_LOGIN = "ACCESS_DENIED"
PERMANENT_BY_RULE = frozenset(
    {
        "INVALID_PATIENT_DATA",
        "INSURANCE_EXPIRED",
        "AUTHORIZATION_DENIED",
        "DUPLICATE_CLAIM",
        "INVALID_PROCEDURE_CODE",
    }
)


class ErrorClassification(StrEnum):
    """What the error is, in the rules' words; UNKNOWN_TRANSIENT is RN-BIL-005's name for UNKNOWN."""

    TRANSIENT = "TRANSIENT"
    PERMANENT = "PERMANENT"
    UNKNOWN = "UNKNOWN"
    UNKNOWN_TRANSIENT = "UNKNOWN_TRANSIENT"


class Team(StrEnum):
    """Who can mend what no retry can."""

    REGISTRATION = "REGISTRATION"
    BILLING_MANAGEMENT = "BILLING_MANAGEMENT"
    OPERATIONS = "OPERATIONS"


class Origin(StrEnum):
    """Where the matched entry was found."""

    CODE = "structured code"
    TEXT = "error text"
    NOWHERE = "no entry"


@dataclass(frozen=True, slots=True)
class Category:
    """One kind of error: its class, and the words and `SCHEME:CODE` codes that show it.

    After an entry listed in `ambiguous` the claim may have arrived although the answer did not. A permanent
    error reaches the `team`; where none is named, billing management.
    """

    name: str
    permanent: bool
    meaning: str = ""
    words: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    ambiguous: tuple[str, ...] = ()
    team: Team | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """The classification of one error, with the catalog entry that decided it."""

    classification: ErrorClassification
    category: str
    matched: str | None = None
    origin: Origin = Origin.NOWHERE
    ambiguous: bool = False
    team: Team = Team.BILLING_MANAGEMENT

    @property
    def permanent(self) -> bool:
        """Whether no retry can mend the error."""
        return self.classification is ErrorClassification.PERMANENT


Entries = tuple[tuple[str, Finding], ...]


@dataclass(frozen=True, slots=True)
class Catalog:
    """The categories, indexed for lookup; build it with `catalog_of`.

    `codes` are for the structured code, `labels` for the same codes found in the text.
    """

    categories: tuple[Category, ...]
    refusals: frozenset[str]
    codes: Mapping[str, Finding]
    labels: Mapping[str, Finding]
    permanent_words: Entries
    transient_words: Entries


def catalog_of(categories: Iterable[Category], *, refusals: Iterable[str] = ()) -> Catalog:
    """Index categories; `refusals` are the code schemes whose unknown codes are permanent."""
    kept = tuple(categories)
    return Catalog(
        categories=kept,
        refusals=frozenset(refusals),
        codes=_codes(kept, Origin.CODE),
        labels=_codes(kept, Origin.TEXT),
        permanent_words=_words(c for c in kept if c.permanent),
        transient_words=_words(c for c in kept if not c.permanent),
    )


def amend(catalog: Catalog, *, permanent: Collection[str] = (), transient: Collection[str] = ()) -> Catalog:
    """The catalog with some entries moved or added; an entry with a colon is a code, any other a word."""
    if not permanent and not transient:
        return catalog
    moved = {entry_key(entry) for entry in (*permanent, *transient)}
    kept = [_without(category, moved) for category in catalog.categories]
    added = [_added("ALSO_PERMANENT", permanent, is_permanent=True)] if permanent else []
    added += [_added("ALSO_TRANSIENT", transient, is_permanent=False)] if transient else []
    return catalog_of((*kept, *added), refusals=catalog.refusals)


def category_of(catalog: Catalog, entry: str) -> Category | None:
    """The category that has the entry, in whatever spelling."""
    key = entry_key(entry)
    holders = (c for c in catalog.categories if key in map(entry_key, (*c.words, *c.codes)))
    return next(holders, None)


def plain(text: str) -> str:
    """Upper-case, without accents."""
    return _without_accents(text).upper()


def fold(plain_text: str) -> str:
    """Every run of blanks, hyphens and underscores as one underscore, so that `TIME OUT` is `TIME_OUT`."""
    return _SEPARATORS.sub("_", plain_text)


def fold_text(text: str) -> str:
    """An error text for finding words, each reading a line: as it is, `JoinedWords` apart, no small words."""
    letters = _without_accents(text)
    apart = _JOINT.sub("_", letters)
    lines = [letters] if apart == letters else [letters, apart]
    folded = "\n".join(fold(line.upper()) for line in lines)
    fewer = _SMALL_WORDS.sub("", folded)
    return folded if fewer == folded else f"{folded}\n{fewer}"


def _without_accents(text: str) -> str:
    return text if text.isascii() else _ACCENTS.sub("", unicodedata.normalize("NFKD", text))


def _codes(categories: Iterable[Category], origin: Origin) -> Mapping[str, Finding]:
    found = {code.upper(): finding_of(c, code, origin) for c in categories for code in c.codes}
    return MappingProxyType(found)


def _words(categories: Iterable[Category]) -> Entries:
    """The longest first: USUARIO_NAO_AUTORIZAD says more than the NAO_AUTORIZAD in it."""
    found = [(entry_key(word), finding_of(c, word, Origin.TEXT)) for c in categories for word in c.words]
    return tuple(sorted(found, key=lambda entry: -len(entry[0])))


def finding_of(category: Category, entry: str, origin: Origin) -> Finding:
    """What an entry of a category says."""
    classes = ErrorClassification
    classification = classes.PERMANENT if category.permanent else classes.TRANSIENT
    team = category.team or Team.BILLING_MANAGEMENT
    return Finding(classification, category.name, entry, origin, entry in category.ambiguous, team)


def entry_key(entry: str) -> str:
    """The form under which two entries are the same."""
    return fold(plain(entry))


def _without(category: Category, moved: Collection[str]) -> Category:
    return replace(
        category,
        words=tuple(word for word in category.words if entry_key(word) not in moved),
        codes=tuple(code for code in category.codes if entry_key(code) not in moved),
    )


def _added(name: str, entries: Collection[str], *, is_permanent: bool) -> Category:
    return Category(
        name,
        is_permanent,
        words=tuple(entry for entry in entries if ":" not in entry),
        codes=tuple(entry for entry in entries if ":" in entry),
    )
