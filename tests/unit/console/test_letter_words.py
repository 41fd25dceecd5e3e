"""What a notice says is shown under names that people know."""

import re
import tomllib
from pathlib import Path

import pytest

import workers.mail
from workers.console.words import LANGUAGES, words_of

TEMPLATES = sorted((Path(workers.mail.__file__).parent / "templates").glob("*.pt.toml"))
NAMED = re.compile(r"\$(\w+)")


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.name)
def test_everything_that_a_notice_is_filled_with_has_a_name_on_its_page(template: Path) -> None:
    text = tomllib.loads(template.read_text(encoding="utf-8"))
    named = {name for part in (text["subject"], *text["paragraphs"]) for name in NAMED.findall(part)}
    assert named
    for language in LANGUAGES:
        assert [name for name in named if not words_of(language).knows(f"letter_data.{name}")] == []
