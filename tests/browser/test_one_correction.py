"""A thousand claims that one cause has stopped go on by one correction: a few clicks, at the payer's pace."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.async_api import Browser

from domain.access import Role
from domain.claim_state import ClaimState
from gateways.zeebe import engine
from tests.browser.live import Live, live, scenario_of
from tests.browser.standing_still import stopped_by_one_cause, suspended
from tests.browser.visitor import PATIENCE_MS, Visitor, Visitors
from tests.support.tiss_samples import PAYER
from tests.support.waiting import eventually

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

NUMBER, PER_MINUTE, AT_ONCE = 1_000, 600, 16
BATCHES = range(5_500_001, 5_500_001 + NUMBER)
HANDFUL = 6
MINUTE = timedelta(minutes=1)
COUNT_CLICKS = """addEventListener("click", (event) => {
  if (event.isTrusted) sessionStorage.clicks = 1 + Number(sessionStorage.clicks || 0);
}, true)"""


@pytest.fixture(scope="module")
async def stage(
    broker: engine.RunningEngine, database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Live]:
    folder: Path = tmp_path_factory.mktemp("live")
    async with live(broker, folder, database_url, scenario=scenario_of(), pace=PER_MINUTE) as opened:
        yield opened


async def test_one_correction_releases_a_thousand_claims_at_their_payers_pace(
    chromium: Browser, stage: Live
) -> None:
    async with stage.faster():
        await stopped_by_one_cause(stage.app, BATCHES)
    async with Visitors(chromium, stage.address).somebody(Role.REGISTRATION) as visitor:
        assert await clicks_to_release(visitor) <= HANDFUL
        async with stage.faster():
            await eventually(lambda: all_are_accepted(stage), 800)
        await visitor.reads(visitor.words("bulk_state.DONE"))
        await visitor.reads(visitor.words("bulk.progress", over="1.000", n="1.000"))
    ledger = stage.simulator.ledger
    assert ledger.times_taken() == {(PAYER, str(number)): 1 for number in BATCHES}
    assert [ledger.arrivals(PAYER, str(number)) for number in BATCHES] == [1] * NUMBER
    arrivals = sorted(entry.at for entry in ledger.entries if entry.lote)
    assert most_in_a_minute(arrivals) <= PER_MINUTE + AT_ONCE


async def clicks_to_release(visitor: Visitor) -> int:
    """From the first page to the order that runs; how often the person clicked."""
    words, page = visitor.words, visitor.page
    await page.context.add_init_script(COUNT_CLICKS)
    await visitor.go("/")
    await visitor.press(words("nav.reviews"))
    await page.locator("tbody a.id").first.click()
    await visitor.press(words("bulk_act.CORRECTED"))
    await visitor.reads(words.counted("bulk_will.CORRECTED", NUMBER))
    await visitor.reads(words("bulk.pace", n=PER_MINUTE))
    await page.locator("textarea[name=reason]").fill("carteiras corrigidas no cadastro da operadora")
    await visitor.press(f"{words('bulk.do')}: {words.counted('claims.found', NUMBER)}")
    await page.wait_for_url("**/reviews/bulk/*", timeout=PATIENCE_MS)
    return int(await page.evaluate("sessionStorage.clicks"))


async def all_are_accepted(stage: Live) -> bool:
    await asyncio.sleep(1)
    if len(stage.simulator.ledger.times_taken()) < NUMBER or await suspended(stage.app, 1) != 0:
        return False
    rows = await stage.app.store.look(lambda tx: tx.claims.all())
    return all(row.state is ClaimState.ACCEPTED for row in rows)


def most_in_a_minute(moments: Sequence[datetime]) -> int:
    """The most of them in any minute."""
    return max(sum(start <= one < start + MINUTE for one in moments) for start in moments)
