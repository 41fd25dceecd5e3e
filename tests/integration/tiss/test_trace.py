"""PAYER_TRACE_DIR: what was said to a payer and by it, for support."""

from pathlib import Path

import pytest

from gateways.clock import WallClock
from gateways.practice.simulator.scenario import Scenario
from gateways.practice.simulator.server import simulated_payers
from tests.support.payers_file import payers_file
from tests.support.tiss_samples import CALL, CARD, DOCTOR, PAYER, lote
from workers.config.settings import SettingsError
from workers.payers.channels import open_channels


@pytest.mark.parametrize("traced", [True, False])
async def test_exchanges_are_kept_without_persons_and_only_where_a_folder_is_named(
    tmp_path: Path, traced: bool
) -> None:
    scenario = Scenario.model_validate({"payers": [{"registro_ans": PAYER}]})
    async with simulated_payers(scenario, WallClock()) as simulator:
        settings = f'[payers.{PAYER}]\nendpoint = "{simulator.url}/{PAYER}"\nversion = "4.03.00"\n'
        trace = tmp_path / "trace"
        async with open_channels(payers_file(tmp_path, settings), trace if traced else None) as channels:
            await channels[PAYER].client.submit(lote(), CALL)
    assert trace.exists() is traced
    kept = "".join(file.read_text(encoding="utf-8") for file in trace.glob("*"))
    assert ("900000000001" in kept) is traced
    assert [person for person in (CARD, DOCTOR, "PREST0001") if person in kept] == []


async def test_a_folder_that_cannot_be_made_is_told_at_the_start(tmp_path: Path) -> None:
    settings = f'[payers.{PAYER}]\nendpoint = "https://payer.example"\nversion = "4.03.00"\n'
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="PAYER_TRACE_DIR"):
        async with open_channels(payers_file(tmp_path, settings), tmp_path / "file" / "trace"):
            pass
