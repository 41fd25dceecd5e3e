"""Network failures are told apart by whether the last byte had left."""

import asyncio
import gzip
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from domain.submission import Accepted, AccessDenied, Failed
from gateways.practice.simulator.server import Listening
from gateways.tiss.judgement import Broken, HttpAnswer, Reply, Unread, judge_submission
from gateways.tiss.transport import Request, open_line
from tests.support.certificates import authority, server_side, signed
from tests.support.connected_payer import connected_payer
from tests.support.raw_server import answering, http, server
from tests.support.tiss_samples import CALL, NOW, lote, payer, sample

QUICK = {"connect": 0.3, "write": 0.3, "read": 0.3, "total": 5}
RECEIPT = sample("response_protocoloRecebimento")
LARGE = b"<a>" + b"x" * 20_000_000 + b"</a>"


async def ask(url: str, message: bytes = b"<a/>", /, **changes: object) -> Reply:
    async with open_line(payer(url, **changes)) as line:
        return await line.ask(Request(url, message, NOW))


@contextmanager
def silent_port(backlog: int = 5) -> Iterator[int]:
    """A port where nobody ever answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(backlog)
        yield listening.getsockname()[1]


async def test_a_closed_port_refuses() -> None:
    async with connected_payer() as played:
        await played.simulator.stop_listening()
        outcome = await played.client.submit(lote(), CALL)
        assert isinstance(outcome, Failed)
        assert outcome.payer_down
        assert outcome.code == "NET:REFUSED"
        await played.simulator.listen()
        assert isinstance(await played.client.submit(lote(), CALL), Accepted)


async def test_an_unknown_host_is_a_name_problem() -> None:
    assert await ask("https://payer.invalid/", timeouts={"connect": 20, "total": 300}) == Broken("NET:DNS")


async def test_no_connection_in_time() -> None:
    with silent_port(backlog=0) as port, socket.create_connection(("127.0.0.1", port)):
        assert await ask(f"http://127.0.0.1:{port}/", timeouts=QUICK) == Broken("NET:CONNECT_TIMEOUT")


async def test_a_handshake_that_never_ends_is_no_connection_either() -> None:
    with silent_port() as port:
        assert await ask(f"https://127.0.0.1:{port}/", timeouts=QUICK) == Broken("NET:CONNECT_TIMEOUT")


async def test_a_payer_that_does_not_read_cannot_have_the_message() -> None:
    with silent_port() as port:
        assert await ask(f"http://127.0.0.1:{port}/", LARGE, timeouts=QUICK) == Broken("NET:WRITE_TIMEOUT")


async def test_a_connection_that_breaks_while_sending_cannot_have_delivered() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.transport.abort()

    async with server(handler) as url:
        assert await ask(url, LARGE) == Broken("NET:BROKEN_SEND")


async def test_all_connections_in_use_is_our_own_matter() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with server(handler) as url:
        settings = payer(url, at_once=1, timeouts={"queue": 0.3, "connect": 5, "read": 60, "total": 90})
        async with open_line(settings) as line:
            first = asyncio.create_task(line.ask(Request(url, b"<a/>", NOW)))
            await asyncio.sleep(0)
            second = await line.ask(Request(url, b"<a/>", NOW))
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
        assert second == Broken("NET:BUSY")


async def test_silence_after_the_message_is_a_read_time_out() -> None:
    with silent_port() as port:
        assert await ask(f"http://127.0.0.1:{port}/", timeouts=QUICK) == Broken("NET:READ_TIMEOUT")


async def test_an_answer_that_drips_is_ended_by_the_total_limit() -> None:
    drops = [http(RECEIPT)[:200], *([b" "] * 200)]
    waits = {"queue": 0.1, "connect": 0.1, "write": 0.2, "read": 0.2, "total": 0.4}
    async with server(answering(*drops, pause=0.05)) as url:
        assert await ask(url, timeouts=waits) == Broken("NET:READ_TIMEOUT")


async def test_an_http_error_whose_body_breaks_off_is_told_with_its_status() -> None:
    cut = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\nno"
    async with server(answering(cut)) as url:
        assert await ask(url) == Unread(403, "NET:TRUNCATED")


async def test_a_packed_answer_is_unpacked_within_the_limit() -> None:
    packed = http(gzip.compress(RECEIPT), "Content-Encoding: gzip")
    bomb = http(gzip.compress(b" " * 50_000_000), "Content-Encoding: gzip")
    nonsense = http(b"not packed at all", "Content-Encoding: gzip")
    async with server(answering(packed)) as url:
        assert await ask(url) == HttpAnswer(200, RECEIPT)
    async with server(answering(bomb)) as url:
        assert await ask(url, max_answer_bytes=100_000) == Broken("NET:TOO_LARGE")
    async with server(answering(nonsense)) as url:
        assert await ask(url) == Broken("NET:TRUNCATED")


@pytest.mark.parametrize(
    ("wish", "wait"),
    [
        ("120", timedelta(minutes=2)),
        (format_datetime(NOW + timedelta(minutes=3), usegmt=True), timedelta(minutes=3)),
        (format_datetime(NOW - timedelta(minutes=3), usegmt=True), timedelta(0)),
        ("999999999999999999999", None),
        ("604800", timedelta(days=1)),
        ("soon", None),
        ("-5", None),
    ],
)
async def test_retry_after_is_read_as_seconds_or_date_and_bounded(wish: str, wait: timedelta | None) -> None:
    async with server(answering(http(b"", f"Retry-After: {wish}", status="503 Busy"))) as url:
        assert await ask(url) == HttpAnswer(503, b"", wait)


async def test_the_request_is_plain_soap_1_1() -> None:
    seen: list[bytes] = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await reader.readuntil(b"\r\n\r\n")).lower())
        writer.write(http(b""))
        await writer.drain()

    async with server(handler) as url:
        await ask(url)
    for line in (b'soapaction: ""', b"content-type: text/xml; charset=iso-8859-1", b"content-length: 4"):
        assert line in seen[0]


async def test_tls_trusts_only_what_it_is_told_to(tmp_path: Path) -> None:
    ca = authority(tmp_path)
    listening = Listening(tls=server_side(signed(tmp_path, "server", ca)))
    async with connected_payer(settings={"ca_file": ca.certificate}, listening=listening) as played:
        assert isinstance(await played.client.submit(lote(), CALL), Accepted)
    async with connected_payer(listening=listening) as played:
        refused = await played.client.submit(lote(), CALL)
        assert isinstance(refused, Failed)
        assert refused.refused
        assert refused.code == "NET:CERTIFICATE"
        assert played.verdicts == []


async def test_a_client_certificate_opens_the_door_and_none_does_not(tmp_path: Path) -> None:
    ca = authority(tmp_path)
    client = signed(tmp_path, "client", ca)
    listening = Listening(tls=server_side(signed(tmp_path, "server", ca), clients=ca))
    own = {"ca_file": ca.certificate, "certificate": client.certificate, "key": client.key}
    async with connected_payer(settings=own, listening=listening) as played:
        assert isinstance(await played.client.submit(lote(), CALL), Accepted)
    async with connected_payer(settings={"ca_file": ca.certificate}, listening=listening) as played:
        outcome = await played.client.submit(lote(), CALL)
        assert isinstance(outcome, AccessDenied)
        assert outcome.code == "HTTP:403"
        assert played.verdicts == []


@contextmanager
def strict_port(context: ssl.SSLContext) -> Iterator[int]:
    """A TLS port that says by alert what it has against a client, as servers in C do."""
    context.verify_mode = ssl.CERT_REQUIRED

    def serve(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        tls = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        with tls:
            with suppress(ssl.SSLError):
                tls.do_handshake()
            while super(ssl.SSLSocket, tls).recv(65536):
                pass  # read on, so that the alert is not overtaken by a reset

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            thread.join()


@pytest.mark.parametrize("who", ["a stranger's", "none"])
async def test_a_client_certificate_that_is_refused_is_a_credential_problem(tmp_path: Path, who: str) -> None:
    ca = authority(tmp_path)
    other = signed(tmp_path, "other", authority(tmp_path, "stranger"))
    own: dict[str, object] = {"certificate": other.certificate, "key": other.key} if who != "none" else {}
    with strict_port(server_side(signed(tmp_path, "server", ca), clients=ca)) as port:
        reply = await ask(f"https://127.0.0.1:{port}/", ca_file=ca.certificate, **own)
    assert reply == Broken("NET:CLIENT_CERTIFICATE")


async def test_a_port_without_tls_is_a_tls_problem() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(http(b""))
        await writer.drain()

    async with server(handler) as url:
        assert await ask(url.replace("http:", "https:")) == Broken("NET:TLS")


async def test_a_handshake_that_breaks_off_leaves_the_payer_unreached() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.transport.abort()

    async with server(handler) as url:
        outcome = judge_submission(await ask(url.replace("http:", "https:")), lote())
    assert isinstance(outcome, Failed)
    assert outcome.payer_down
