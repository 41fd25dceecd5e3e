"""Thirty dead letters on a real broker with a real mail server: waves, a stop, a kill, each arrives once."""

from datetime import timedelta
from pathlib import Path
from signal import SIGINT

import pytest

from bpmn.names import ProcessId
from gateways.engine_clock import EngineClock
from gateways.zeebe import engine
from tests.process.records import Records
from tests.process.stage import eventually
from tests.support.redrive_scene import redrive_scene


@pytest.mark.timeout(300)
async def test_thirty_letters_are_redriven_in_waves_with_a_stop_a_kill_and_resumes(
    own_broker: engine.RunningEngine, own_config: engine.EngineConfig, tmp_path: Path
) -> None:
    async with redrive_scene(own_broker, own_config.home, tmp_path) as scene:
        await scene.die(30)
        scene.refuse(range(5, 15))
        code, _, err = await scene.redrive()
        assert code == 2
        assert "30 dead letters to be sent again" in err
        assert (await scene.letters(), len(scene.copies)) == (30, 0)

        code, out, err = await scene.redrive("--yes", "--per-minute", "600")
        assert code == 1
        assert out.startswith("Stopped, as ")
        assert "in wave 2 failed again: 5 sent" in out
        assert "15 left" in out
        assert "wave 1 of 5: 5 sent, 0 failed" in err
        assert len(scene.copies) == 5

        scene.refuse(range(0))
        cut = await scene.started("--yes", "--per-minute", "60")
        await scene.arrive(8)
        cut.kill()
        await cut.communicate()

        cut = await scene.started("--yes", "--per-minute", "60")
        await scene.arrive(11)
        cut.send_signal(SIGINT)
        _, told = await cut.communicate()
        assert cut.returncode == 130
        assert "Cut off." in told.decode()
        assert "run the same command again" in told.decode()

        code, out, _ = await scene.redrive("--yes", "--per-minute", "600")
        assert (code, out.startswith("Done: ")) == (0, True), out
        await scene.none_is_left()
        assert len(scene.copies) == 30
        assert set(scene.copies.values()) == {1}


async def test_after_its_cool_down_the_process_sends_wave_after_wave_and_ends(
    own_broker: engine.RunningEngine, own_config: engine.EngineConfig, tmp_path: Path
) -> None:
    clock, records = EngineClock(own_broker.management_url), Records(own_config.log_file)

    async def ended() -> int | None:
        found = [one for one in records.ended(ProcessId.MAINTENANCE_REDRIVE) if len(steps(one)) > 1]
        return found[0] if found else None

    def steps(instance: int) -> list[str]:
        return [one for one in records.completed(instance) if one == "Task_RedriveDeadLetters"]

    codes = {"421": 30}
    async with redrive_scene(own_broker, own_config.home, tmp_path, redrive_after_minutes=codes) as scene:
        await scene.die(8, ago=timedelta(hours=1))
        await clock.advance(timedelta(minutes=15, seconds=1))
        await scene.letters_fall_to(3)
        await clock.advance(timedelta(minutes=1, seconds=1))
        await scene.letters_fall_to(0)
        await clock.advance(timedelta(minutes=1, seconds=1))
        instance = await eventually(ended, "the redrive to end")
        assert len(steps(instance)) == 3
        variables = records.variables(instance)
        assert (variables["redriveCode"], variables["redriveWave"], variables["redriveSize"]) == ("421", 2, 3)
        assert variables["redriveGoesOn"] is False
        assert (len(scene.copies), set(scene.copies.values())) == (8, {1})
