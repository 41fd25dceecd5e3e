"""Models reach an engine that has only just started, however slow its machine is."""

import pytest

from bpmn.names import model_paths
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import UNANSWERED_AT_MOST, ZeebeCommands
from gateways.zeebe.connection import Plaintext
from gateways.zeebe.refusals import CommandRefusedError
from tests.support.faults.messages import message_broker


async def test_a_deployment_without_an_answer_is_asked_for_again() -> None:
    async with message_broker() as broker, open_channel(Plaintext(broker.address)) as channel:
        broker.slow_deployments = 2
        await ZeebeCommands(channel).deploy(*model_paths())
        assert broker.deployments == 3


async def test_an_engine_that_never_answers_is_told_of() -> None:
    async with message_broker() as broker, open_channel(Plaintext(broker.address)) as channel:
        broker.slow_deployments = 99
        with pytest.raises(CommandRefusedError, match="Deployment refused: DEADLINE_EXCEEDED"):
            await ZeebeCommands(channel).deploy(*model_paths())
        assert broker.deployments == UNANSWERED_AT_MOST + 1
