"""A scenario is read from TOML or JSON, and refused in one line."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from gateways.practice.simulator.scenario import Drop, Http, LoseAnswer, ScenarioError, read_scenario

TEXT = """
seed = 7

[[payers]]
registro_ans = "302147"
version = "4.01.00"
requests_per_minute = 60

[[payers.outages]]
start = "PT30M"
end = 2030-01-01T00:00:00Z
then = { do = "http", status = 502 }

[[payers.rules]]
lote = "77*"
arrivals = [1]
then = { do = "lose-answer", how = "hang" }

[[closed]]
start = "PT1H"
end = "PT2H"
"""


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    toml, other = tmp_path / "s.toml", tmp_path / "s.json"
    toml.write_text(TEXT, encoding="utf-8")
    scenario = read_scenario(toml)
    other.write_text(scenario.model_dump_json(), encoding="utf-8")
    assert read_scenario(other) == scenario
    (payer,) = scenario.payers
    assert payer.outages[0].start == timedelta(minutes=30)
    assert payer.outages[0].then == Http(status=502)
    assert payer.rules[0].then == LoseAnswer(how="hang")
    assert scenario.closed[0].end == timedelta(hours=2)


def test_behaviours_have_sensible_defaults() -> None:
    assert (Drop().how, LoseAnswer().how, Http().status) == ("reset", "close", 503)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (('"lose-answer"', '"explode"'), "explode"),
        (("lote =", "batch ="), "batch"),
        (('"302147"', '"x"'), "registro_ans"),
        (("2030-01-01T00:00:00Z", "2030-01-01T00:00:00"), "payers.0.outages.0.end"),
        (("seed = 7", "seed ="), "cannot be read"),
    ],
)
def test_a_bad_scenario_is_told_in_one_line(tmp_path: Path, change: tuple[str, str], why: str) -> None:
    file = tmp_path / "s.toml"
    file.write_text(TEXT.replace(*change), encoding="utf-8")
    with pytest.raises(ScenarioError, match="Scenario") as refused:
        read_scenario(file)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_or_broken_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="No such file"):
        read_scenario(tmp_path / "none.toml")
    broken = tmp_path / "s.json"
    broken.write_text(json.dumps({})[:-1])
    with pytest.raises(ScenarioError, match="cannot be read"):
        read_scenario(broken)
