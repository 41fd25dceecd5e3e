"""Running out of file descriptors is our own trouble: no payer is blamed, no attempt is spent."""

import asyncio
import errno
import socket
from pathlib import Path

import pytest

from domain.payer_status import PayerState
from domain.submission import Accepted, Failed, OwnTrouble
from gateways.own_limits import own_limit
from gateways.tiss.judgement import Broken
from gateways.tiss.probe import is_up
from gateways.tiss.settings import PayerSettings
from gateways.tiss.transport import Line, Request, open_line
from persistence.store import Store
from tests.support.builders import later
from tests.support.descriptors import no_more_files
from tests.support.payer_stage import PAYER, Scene
from tests.support.payers_file import payers_file
from tests.support.tiss_samples import CALL, NOW, lote, payer
from workers.app.probes import free_descriptors
from workers.payers.channels import open_channels
from workers.runtime import Complete, Postpone

NO_FILES = OwnTrouble("TEMPORARY_ERROR - we are out of file descriptors", "NET:OWN_FILES")


@pytest.fixture
def scene(store: Store) -> Scene:
    return Scene(store)


NOBODY = "http://127.0.0.1:1/"


async def warm_up(line: Line) -> None:
    """A first call, and a first name, load what is loaded at first use."""
    await asyncio.get_running_loop().getaddrinfo("localhost", 1)
    assert await line.ask(Request(NOBODY, b"<a/>", NOW)) == Broken("NET:REFUSED")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "payer.invalid"])
async def test_a_connection_that_we_cannot_open_is_no_outage_of_the_payer(host: str) -> None:
    async with open_line(payer(NOBODY)) as line:
        await warm_up(line)
        with no_more_files():
            reply = await line.ask(Request(f"http://{host}:1/", b"<a/>", NOW))
    assert reply == Broken("NET:OWN_FILES")


@pytest.mark.parametrize("number", [errno.EBUSY, errno.ENOENT, errno.EINVAL, errno.EHOSTUNREACH, None])
def test_a_name_that_no_file_is_left_to_look_up_fails_with_any_number(number: int | None) -> None:
    trouble = OSError(number, "no name") if number else socket.gaierror(socket.EAI_AGAIN, "no name")
    assert own_limit(trouble) is None
    with no_more_files():
        assert own_limit(trouble) == "NET:OWN_FILES"


@pytest.mark.parametrize("answer", [ConnectionRefusedError(), ConnectionResetError(), TimeoutError()])
def test_what_the_payer_itself_did_is_no_limit_of_ours(answer: OSError) -> None:
    with no_more_files():
        assert own_limit(answer) is None


async def test_every_send_says_that_nothing_left_and_what_to_do(tmp_path: Path) -> None:
    file = payers_file(tmp_path, f'[payers.999999]\nendpoint = "{NOBODY}"\nversion = "4.03.00"')
    async with open_channels(file) as channels:
        client = channels["999999"].client
        assert isinstance(await client.submit(lote(), CALL), Failed)
        batch = lote()
        with no_more_files():
            results = await asyncio.gather(*(client.submit(batch, CALL) for _ in range(8)))
    assert all(isinstance(result, OwnTrouble) and "ulimit -n" in result.error for result in results)


async def test_the_claim_waits_without_an_attempt_and_the_payer_is_not_blamed(scene: Scene) -> None:
    scene.answer = NO_FILES
    for _ in range(10):  # more often than an operation may fail, and than failures open the breaker
        outcome = await scene.submit(1)
        assert isinstance(outcome, Postpone)
        assert "out of file descriptors" in outcome.message
        scene.moment = later(minutes=1)
    status = await scene.status()
    assert (status.state, status.failures) == (PayerState.CLOSED, 0)
    async with scene.store.reading() as tx:
        assert (await tx.attempts.history("CLM-D-1")).sends == ()
        assert not (await tx.attempts.history("CLM-D-1")).answer_was_lost
        assert await tx.payers.in_flight(PAYER, now=scene.moment) == 0
    scene.answer = Accepted("P-1")
    assert await scene.submit(1) == Complete({"protocolNumber": "P-1"})


async def test_a_probe_that_we_cannot_make_says_nothing_about_the_payer(scene: Scene) -> None:
    scene.settings = {PAYER: payer()}

    async def without_files(settings: PayerSettings) -> bool | None:
        with no_more_files():
            return await is_up(settings)

    await scene.submit(1)
    await scene.probing(without_files).one(PAYER, scene.moment)
    assert (await scene.status()).probe_up is None


async def test_readiness_says_so() -> None:
    assert await free_descriptors() is None
    with no_more_files():
        assert "ulimit -n" in (await free_descriptors() or "")
