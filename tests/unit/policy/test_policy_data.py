"""The packaged catalog: every entry decides something, none hides another, all codes are real."""

import csv
from pathlib import Path

import pytest

from domain.catalog import Category, Origin, entry_key
from domain.classification import classify
from workers.policy import load_policy

CATALOG = load_policy().catalog
CATEGORIES = CATALOG.categories
WORDS = [(category, word) for category in CATEGORIES for word in category.words]
CODES = [(category, code) for category in CATEGORIES for code in category.codes]
TABLE_38 = Path(__file__).parents[1] / "data" / "tabela38_codes.csv"


def known_tiss_codes() -> set[str]:
    with TABLE_38.open(encoding="utf-8") as file:
        return {f"TISS:{row['code']}" for row in csv.DictReader(file)}


@pytest.mark.parametrize(("category", "word"), WORDS, ids=[word for _, word in WORDS])
def test_every_word_is_reachable(category: Category, word: str) -> None:
    found = classify(CATALOG, f"x {word.lower()} y")
    assert found is not None
    assert (found.category, found.matched, found.permanent) == (category.name, word, category.permanent)


@pytest.mark.parametrize(("category", "code"), CODES, ids=[code for _, code in CODES])
def test_every_code_is_reachable(category: Category, code: str) -> None:
    found = classify(CATALOG, "x", code)
    assert found is not None
    assert (found.category, found.matched, found.origin) == (category.name, code, Origin.CODE)
    assert found.permanent is category.permanent


@pytest.mark.parametrize("code", [code for _, code in CODES if code.startswith(("TISS:", "HTTP:"))])
def test_every_numeric_code_is_reachable_as_labelled_text(code: str) -> None:
    found = classify(CATALOG, f"failed with {code.replace(':', ' ')}.")
    assert found is not None
    assert (found.matched, found.origin) == (code, Origin.TEXT)


def test_no_entry_stands_twice() -> None:
    entries = [entry_key(entry) for category in CATEGORIES for entry in (*category.words, *category.codes)]
    assert len(entries) == len(set(entries))


def test_no_word_hides_another() -> None:
    """Within a class the longest word decides, and none can hide another."""
    for category, word in WORDS:
        for other, longer in WORDS:
            same = category.permanent == other.permanent
            assert same or entry_key(word) not in entry_key(longer), (word, longer)


def test_every_ambiguous_entry_is_an_entry_of_its_category() -> None:
    for category in CATEGORIES:
        assert set(category.ambiguous) <= {*category.words, *category.codes}


def test_every_tiss_code_is_in_table_38() -> None:
    assert {code for _, code in CODES if code.startswith("TISS:")} <= known_tiss_codes()


def test_every_code_of_table_38_gets_a_class_and_only_these_are_retried() -> None:
    retried = {code for code in known_tiss_codes() if not _permanent(code)}
    numbers = (1412, 3160, 3162, 3291, 5008, 5009, 5010, 5012)
    assert retried == {f"TISS:{number}" for number in numbers}


def _permanent(code: str) -> bool:
    found = classify(CATALOG, "", code)
    assert found is not None
    return found.permanent


@pytest.mark.parametrize(
    ("word", "permanent"),
    [("DestinatarioInvalido", True), ("RemetenteInvalido", True), ("LoginInvalido", True),
     ("VersaoInvalida", True), ("HashInvalido", True), ("SchemaInvalido", True),
     ("ErroInesperadoServidor", False)],
)  # fmt: skip
def test_every_fault_word_is_classified(word: str, permanent: bool) -> None:
    assert _permanent(f"FAULT:{word}") is permanent


@pytest.mark.parametrize(
    ("statuses", "permanent"),
    [((400, 401, 403, 404, 405, 410, 413, 415), True), ((408, 425, 429, 500, 502, 503, 504), False)],
)
def test_every_http_status_of_the_notes_is_classified(statuses: tuple[int, ...], permanent: bool) -> None:
    assert all(_permanent(f"HTTP:{status}") is permanent for status in statuses)


def test_the_numbers_that_contain_503_or_504_are_permanent() -> None:
    tricky = [code for code in known_tiss_codes() if "503" in code or "504" in code]
    assert len(tricky) >= 20
    assert all(_permanent(code) for code in tricky)
