"""The screens' texts: every language says the same things, with the same values in them."""

import re
from pathlib import Path
from string import Formatter

import pytest

import workers.console
from domain.access import Role
from domain.kpis.definitions import KPIS
from workers.console.words import LANGUAGES, Words, words_of
from workers.upkeep.report_words import PORTUGUESE

CONSOLE = Path(workers.console.__file__).parent
NAMED = re.compile(r"""\bt\('([a-z_.]+)'""")
ALL = [words_of(language) for language in LANGUAGES]


def values_in(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_all_languages_have_the_same_texts_with_the_same_values() -> None:
    first, *others = ({name: values_in(text) for name, text in words.texts.items()} for words in ALL)
    assert all(other == first for other in others)


@pytest.mark.parametrize("words", ALL, ids=list(LANGUAGES))
def test_no_text_is_empty_or_doubled_by_mistake(words: Words) -> None:
    assert [name for name, text in words.texts.items() if text != text.strip() or not text] == []


@pytest.mark.parametrize("template", sorted((CONSOLE / "templates").rglob("*.html")), ids=lambda p: p.name)
def test_every_text_that_a_template_names_is_there(template: Path) -> None:
    named = NAMED.findall(template.read_text(encoding="utf-8"))
    missing = [name for name in named if not ALL[0].knows(name) and not name.endswith(".")]
    assert [name for name in missing if not ALL[0].knows(f"{name}.one")] == []


ENGLISH = re.compile(
    r"\b(retry|retries|retried|claims?|payers?|batch|breaker|worker|job|lease|backoff|timeout|review|resend|until"
    r"|and|the|of|with|not|is|are)\b",
    re.IGNORECASE,
)


def test_no_portuguese_text_has_a_word_left_in_english() -> None:
    reports = [*PORTUGUESE.titles.values(), *PORTUGUESE.failures, *PORTUGUESE.given_up, *PORTUGUESE.scores]
    texts = [*words_of("pt").texts.values(), *reports, *(kpi.title for kpi in KPIS)]
    plain = [re.sub(r"\{[^}]*\}", "", text) for text in texts]
    assert [text for text in plain if ENGLISH.search(text)] == []


def test_claims_are_simulated_and_never_thrown_about() -> None:
    """What English calls a play is no game in Portuguese."""
    thrown = re.compile(r"\bjog(o|ad|ar|and)", re.IGNORECASE)
    assert [text for text in words_of("pt").texts.values() if thrown.search(text)] == []


def test_every_role_has_its_words() -> None:
    assert all(
        words.knows(f"role.{role}") and words.knows(f"role_may.{role}") for words in ALL for role in Role
    )


def test_an_unknown_language_is_portuguese() -> None:
    assert words_of("xx").language == "pt"


def test_numbers_have_the_signs_of_their_language() -> None:
    assert (words_of("pt").number(12345), words_of("en").number(12345)) == ("12.345", "12,345")


def test_a_language_that_nobody_has_is_portuguese_and_takes_no_memory() -> None:
    """Anybody may ask for one, without a login."""
    assert words_of("xx-1") is words_of("xx-2") is words_of("pt")
