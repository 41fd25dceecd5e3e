"""No document reaches out, grows, or nests beyond its bounds; sound ones are read in any encoding."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lxml import etree

from gateways.tiss.names import ANS, INSTANCE, Version
from gateways.tiss.validation import Schemas
from gateways.tiss.xml import MAX_DEPTH, MAX_TAGS, XmlLimits, XmlProblem, XmlRefusedError, parse
from tests.support.tiss_samples import message_in, sample

BOUND = XmlLimits(1_000_000)
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


def refused(data: bytes, limits: XmlLimits = BOUND) -> XmlProblem:
    with pytest.raises(XmlRefusedError) as error:
        parse(data, limits)
    return error.value.problem


@contextmanager
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """A port that remembers whether anybody came."""
    visits: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                connection, _ = server.accept()
                with connection:
                    data = connection.recv(1000)
                if data == b"end":
                    return
                visits.append(data)

        thread = threading.Thread(target=serve)
        thread.start()
        port: int = server.getsockname()[1]
        try:
            yield port, visits
        finally:
            with socket.create_connection(("127.0.0.1", port)) as last:
                last.sendall(b"end")
            thread.join()


@pytest.mark.parametrize(
    "document",
    [
        f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]><a>&l9;</a>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>&x;</a>',
        '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd"><a/>',
        '<!DOCTYPE a [<!ENTITY % p SYSTEM "http://127.0.0.1:9/p"> %p;]><a/>',
        f'<!DOCTYPE a [<!ENTITY big "{"x" * 1000}">]><a>{"&big;" * 100}</a>',
        '<?xml version="1.0"?>\n<!-- c --><!DOCTYPE html><html/>',
        "<a><!ENTITY x 'y'></a>",
    ],
)
def test_document_types_and_entities_are_never_read(document: str) -> None:
    assert refused(document.encode()) is XmlProblem.DOCTYPE


def test_an_undeclared_entity_is_malformed() -> None:
    assert refused(b"<a>&lol;</a>") is XmlProblem.MALFORMED


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_a_document_type_cannot_hide_in_another_encoding(encoding: str) -> None:
    document = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'
    assert refused(document.encode(encoding)) is XmlProblem.ENCODING


@pytest.mark.parametrize("name", ["UTF-7", "UTF-16", "EBCDIC-CP-US", "ISO-2022-JP", "x-unknown"])
def test_encodings_outside_the_standard_are_refused(name: str) -> None:
    assert refused(f'<?xml version="1.0" encoding="{name}"?><a/>'.encode()) is XmlProblem.ENCODING


def test_ebcdic_is_not_guessed() -> None:
    assert refused('<?xml version="1.0"?><a/>'.encode("cp037")) is XmlProblem.MALFORMED


def test_depth_is_bounded() -> None:
    def nested(depth: int) -> bytes:
        return b"<a>" * depth + b"</a>" * depth

    assert parse(nested(MAX_DEPTH), BOUND).tag == "a"
    assert refused(nested(MAX_DEPTH + 1)) is XmlProblem.TOO_DEEP
    assert refused(nested(100_000)) in (XmlProblem.TOO_DEEP, XmlProblem.MALFORMED)


def test_size_and_number_of_tags_are_bounded() -> None:
    assert refused(b"<a>" + b"x" * 2_000_000 + b"</a>") is XmlProblem.TOO_LARGE
    assert refused(b"<a>" + b"<b/>" * MAX_TAGS + b"</a>", XmlLimits(10_000_000)) is XmlProblem.TOO_LARGE
    assert refused(b"   \n ") is XmlProblem.EMPTY


@pytest.mark.parametrize("attribute", ["schemaLocation", "noNamespaceSchemaLocation"])
def test_a_schema_location_is_neither_kept_nor_visited(attribute: str) -> None:
    with listener() as (port, visits):
        hint = f"http://127.0.0.1:{port}/evil.xsd"
        value = f"urn:evil {hint} {ANS} {hint}" if attribute == "schemaLocation" else hint
        root = f'<ans:loteGuiasWS xmlns:i="{INSTANCE}" i:{attribute}="{value}" '
        data = sample("request_loteGuiasWS").replace(b"<ans:loteGuiasWS ", root.encode())
        message = message_in(data)
        assert Schemas().violations(message, Version.V4_03_00) == ()
        assert hint not in etree.tostring(message, encoding="unicode")
        assert visits == []


def test_an_include_is_just_an_element(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    include = f'<a xmlns:x="http://www.w3.org/2001/XInclude"><x:include href="{secret}" parse="text"/></a>'
    assert "secret" not in (parse(include.encode(), BOUND)[0].text or "")


def test_comments_instructions_and_cdata_leave_only_their_text() -> None:
    root = parse(b"<a><?php echo 1 ?>x<!-- no -->y<![CDATA[<z>]]></a>", BOUND)
    assert (len(root), root.text) == (0, "xy<z>")


@pytest.mark.parametrize(
    "data",
    [
        '<?xml version="1.0" encoding="UTF-8"?><a>não</a>'.encode(),
        '<?xml version="1.0" encoding="ISO-8859-1"?><a>não</a>'.encode("latin-1"),
        "<a>não</a>".encode(),
        b"\xef\xbb\xbf" + "<a>não</a>".encode(),
        b"\n  " + "<a>não</a>".encode(),
        '<?xml version="1.0" encoding="windows-1252"?><a>não</a>'.encode("cp1252"),
        "<a>não</a>".encode("latin-1"),
        '<?xml version="1.0" encoding="UTF-8"?><a>não</a>'.encode("latin-1"),
    ],
)
def test_texts_survive_even_where_the_declared_encoding_is_wrong(data: bytes) -> None:
    assert parse(data, BOUND).text == "não"


def test_a_refusal_tells_the_line_and_nothing_of_the_content() -> None:
    with pytest.raises(XmlRefusedError) as error:
        parse(b"<a>\n<secret>123</b>\n</a>", BOUND)
    assert str(error.value) == "it is not well-formed XML, see line 2"
