"""The texts of the screens: one TOML file per language, the same keys in each."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

DEFAULT = "pt"
LANGUAGES = MappingProxyType({"pt": "pt-BR", "en": "en"})
"""What people choose from, and what the browser is told."""


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of one language, by their dotted names."""

    language: str
    texts: Mapping[str, str]

    def __call__(self, name: str, /, **values: object) -> str:
        """A text, with values in it."""
        return self.texts[name].format(**values) if values else self.texts[name]

    def counted(self, name: str, number: int, /, **values: object) -> str:
        """A text in the number that fits: `name.one` or `name.many`."""
        return self(f"{name}.{'one' if number == 1 else 'many'}", n=self.number(number), **values)

    def knows(self, name: str) -> bool:
        """Whether there is such a text."""
        return name in self.texts

    def number(self, number: int) -> str:
        """A whole number with its thousands apart."""
        text = f"{number:,}"
        return text.replace(",", ".") if self.language == "pt" else text

    @property
    def point(self) -> str:
        """What stands before decimals."""
        return "," if self.language == "pt" else "."

    @property
    def tag(self) -> str:
        """The language as HTML names it."""
        return LANGUAGES[self.language]


def words_of(language: str) -> Words:
    """The texts of a language; of one that is not known, Portuguese."""
    return _read(language if language in LANGUAGES else DEFAULT)


@cache
def _read(known: str) -> Words:
    text = Path(__file__).with_name(f"{known}.toml").read_text(encoding="utf-8")
    return Words(known, MappingProxyType(dict(_flat(tomllib.loads(text)))))


def _flat(table: Mapping[str, object], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", str(value)
