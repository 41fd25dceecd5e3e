"""The scripted payer answers by its script, whoever asks and however often."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain.practice import is_made_up
from domain.submission import Accepted, AnswerLost, Duplicate, Failed, Submission
from gateways.practice.scripted import (
    AcceptLine,
    DenyAccessLine,
    DuplicateLine,
    FailLine,
    LoseAnswerLine,
    OutageLine,
    Script,
    ScriptedPayer,
    read_script,
)

NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)
CLAIM = "CLM-001-1"


def send(attempt: int, payer: str = "north") -> Submission:
    return Submission(CLAIM, payer, attempt)


async def test_without_a_script_everything_is_accepted_with_the_same_protocol() -> None:
    payer = ScriptedPayer(Script())
    first, again = await payer.send(send(1), NOW), await payer.send(send(2), NOW)
    assert isinstance(first, Accepted)
    assert first == again
    assert is_made_up(first.protocol_number)


async def test_answers_follow_the_attempts_and_the_last_one_stays() -> None:
    script = Script(answers={CLAIM: (FailLine(error="TIMEOUT"), LoseAnswerLine(), DuplicateLine())})
    payer = ScriptedPayer(script)
    assert await payer.send(send(1), NOW) == Failed("TIMEOUT")
    assert isinstance(await payer.send(send(2), NOW), AnswerLost)
    assert await payer.send(send(3), NOW) == Duplicate()
    assert await payer.send(send(9), NOW) == Duplicate()


async def test_an_outage_hits_its_payer_from_its_start_until_just_before_its_end() -> None:
    end = NOW + timedelta(hours=1)
    payer = ScriptedPayer(Script(outages=(OutageLine(payer="north", start=NOW, end=end),)))
    assert isinstance(await payer.send(send(1), NOW), Failed)
    assert isinstance(await payer.send(send(1), end - timedelta(seconds=1)), Failed)
    assert isinstance(await payer.send(send(1), end), Accepted)
    assert isinstance(await payer.send(send(1, "south"), NOW), Accepted)


def test_a_script_survives_the_file(tmp_path: Path) -> None:
    script = Script(
        outages=(OutageLine(payer="north", start=NOW, end=NOW),),
        answers={CLAIM: (AcceptLine(), FailLine(error="x", code="TISS:1"), DenyAccessLine())},
    )
    file = tmp_path / "script.json"
    file.write_text(script.model_dump_json(), encoding="utf-8")
    assert read_script(file) == script


@pytest.mark.parametrize("text", ["{", '{"answers": {"CLM-1-1": [{"do": "explode"}]}}', '{"outage": []}'])
def test_a_script_that_is_not_valid_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "script.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"script\.json is not valid"):
        read_script(file)


def test_a_missing_script_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nowhere\.json: No such file"):
        read_script(tmp_path / "nowhere.json")
