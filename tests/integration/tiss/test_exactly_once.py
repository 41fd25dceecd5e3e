"""Answers dropped at random: every batch is taken exactly once, and nobody believes otherwise."""

import asyncio
from dataclasses import replace

from domain.submission import Accepted, AnswerLost, Duplicate, SendResult
from gateways.tiss.client import TissClient
from gateways.tiss.lote import Lote
from tests.support.connected_payer import connected_payer
from tests.support.tiss_samples import CALL, PAYER, lote

BATCHES = 300
DROPS = {
    "rules": [
        {"chance": 0.15, "then": {"do": "drop", "how": "reset"}},
        {"chance": 0.15, "then": {"do": "lose-answer", "how": "reset"}},
        {"chance": 0.15, "then": {"do": "lose-answer", "how": "truncate"}},
        {"chance": 0.15, "then": {"do": "garbage", "kind": "cut"}},
        {"chance": 0.15, "then": {"do": "http", "status": 502}},
    ]
}


async def send_until_settled(client: TissClient, batch: Lote) -> list[SendResult]:
    """Resend the same batch after each ambiguous answer."""
    outcomes: list[SendResult] = []
    while not outcomes or isinstance(outcomes[-1], AnswerLost):
        call = replace(CALL, sequence=str(len(outcomes) + 1))
        outcomes.append(await client.submit(batch, call))
    return outcomes


async def test_each_batch_is_taken_once_and_its_protocol_is_known_or_known_to_be_lost() -> None:
    async with connected_payer(DROPS, {"at_once": 8}) as played:
        batches = [lote(str(number), first=number) for number in range(1, BATCHES + 1)]
        stories = await asyncio.gather(*(send_until_settled(played.client, batch) for batch in batches))
        ledger = played.simulator.ledger
        assert ledger.times_taken() == {(PAYER, batch.number): 1 for batch in batches}
        for batch, story in zip(batches, stories, strict=True):
            entry = ledger.taken(PAYER, batch.number)
            assert entry
            last = story[-1]
            if isinstance(last, Accepted):
                assert last.protocol_number == entry.protocol
            else:
                assert isinstance(last, Duplicate)
                assert not entry.answered
                assert len(story) > 1
        assert {type(story[-1]) for story in stories} == {Accepted, Duplicate}
