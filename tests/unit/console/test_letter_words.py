"""What a notice says is shown under names that people know."""

import re
import tomllib
from importlib.resources import files

import pytest

from workers.console.words import LANGUAGES, words_of

TEMPLATES = sorted(one for one in files("workers.mail").joinpath("templates").iterdir() if ".pt." in one.name)
NAMED = re.compile(r"\$(\w+)")


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.name)
def test_everything_that_a_notice_is_filled_with_has_a_name_on_its_page(template: object) -> None:
    text = tomllib.loads(template.read_text(encoding="utf-8"))  # type: ignore[attr-defined]
    named = {name for part in (text["subject"], *text["paragraphs"]) for name in NAMED.findall(part)}
    assert named
    for language in LANGUAGES:
        assert [name for name in named if not words_of(language).knows(f"letter_data.{name}")] == []
