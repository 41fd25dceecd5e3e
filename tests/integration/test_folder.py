"""A folder of files goes in whole, although the engine does not take every message."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from domain.claim_state import ClaimState
from gateways.zeebe.messages import ProcessMessage
from gateways.zeebe.refusals import CommandRefusedError
from persistence.repositories.claims import Wanted
from persistence.store import Store
from tests.support.intake_stage import IntakeStage, intake_stage
from tests.support.tiss_samples import file_bytes, file_text
from workers.cli.submit import LATE_IN_A_ROW, SubmittingEnded, Wish, _each, _hand_in

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
FILES = 40
WISH = Wish(None, None, None)


@pytest.fixture
def folder(tmp_path: Path) -> Sequence[Path]:
    files = [tmp_path / f"{number:03}.xml" for number in range(1, FILES + 1)]
    for number, file in enumerate(files, start=1):
        file.write_bytes(file_bytes(file_text(f"{number:012}", first=number)))
    return files


@pytest.fixture
async def stage(store: Store, tmp_path: Path) -> AsyncIterator[IntakeStage]:
    async with intake_stage(store, tmp_path) as opened:
        yield opened


def refusing(stage: IntakeStage, monkeypatch: pytest.MonkeyPatch, refused: set[int]) -> None:
    """The engine refuses messages by their number; that it is crowded cannot be brought about at will."""
    publish, number = stage.intake.commands.publish, iter(range(1, 1000))

    async def maybe(message: ProcessMessage) -> bool:
        if next(number) in refused:
            raise CommandRefusedError("The engine did not take it: it is crowded.")
        return await publish(message)

    monkeypatch.setattr(stage.intake.commands, "publish", maybe)


async def stored(stage: IntakeStage) -> int:
    found = await stage.store.look(lambda tx: tx.claims.newest(Wanted(), 1000))
    assert {claim.state for claim in found} <= {ClaimState.RECEIVED}
    return len(found)


async def test_one_message_that_is_refused_ends_no_folder(
    stage: IntakeStage,
    folder: Sequence[Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    refusing(stage, monkeypatch, {7})
    counts = await _each(folder, WISH, 10**7, lambda file: _hand_in(stage.intake, file))
    assert counts == {"new": FILES - 1, "late": 1}
    assert await stored(stage) == FILES
    assert "it starts within minutes" in capsys.readouterr().out


async def test_an_engine_that_is_away_ends_it_with_a_summary_and_what_is_left(
    stage: IntakeStage,
    folder: Sequence[Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    refusing(stage, monkeypatch, set(range(1000)))
    with pytest.raises(SubmittingEnded, match="hand the same in again"):
        await _each([*folder, *folder], WISH, 10**7, lambda file: _hand_in(stage.intake, file))
    told = capsys.readouterr().out.splitlines()
    assert told[-1].endswith(f"{len(told) - 1} late.")
    assert len(told) - 1 >= LATE_IN_A_ROW
