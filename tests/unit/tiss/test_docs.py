"""What docs/tiss.md shows can be used as it stands."""

import re
from pathlib import Path

import pytest

from gateways.practice.simulator.scenario import Accept, Behaviour, Garbage, read_scenario
from gateways.tiss.settings import PayerSettings, read_payers

PAGE = Path(__file__).parents[3] / "docs" / "tiss.md"
TEXT = PAGE.read_text(encoding="utf-8")


def block(name: str) -> str:
    found = re.search(rf"```toml\n# {re.escape(name)}\n(.*?)```", TEXT, re.DOTALL)
    assert found
    return found[1]


def test_the_payers_file_is_read_and_shows_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "payers.toml"
    file.write_text(block("payers.toml"), encoding="utf-8")
    settings = read_payers(file, {"PAYER_302147_PASSWORD": "x"})["302147"]
    for name in (
        "encoding",
        "hash_encoding",
        "ascii_text",
        "answer_hash",
        "timeouts",
        "at_once",
        "lockout_after",
    ):
        assert getattr(settings, name) == PayerSettings.model_fields[name].default


def test_the_scenario_can_be_played(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(block("scenario.toml"), encoding="utf-8")
    scenario = read_scenario(file)
    assert len(scenario.payers[0].rules) == 2
    assert len(scenario.closed) == 1


@pytest.mark.parametrize("kind", Behaviour.__origin__.__args__)  # type: ignore[attr-defined]
def test_every_behaviour_is_in_the_table(kind: type[Accept]) -> None:
    assert f"| `{kind.model_fields['do'].default}` |" in TEXT


def test_every_kind_of_garbage_is_in_the_table() -> None:
    kinds = Garbage.model_json_schema()["properties"]["kind"]["enum"]
    assert f"`kind` = {', '.join(kinds)}" in TEXT
