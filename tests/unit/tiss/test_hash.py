"""The hash agrees with the samples (ISO-8859-1) and with the published vectors (UTF-8)."""

import json
from typing import TypedDict

import pytest
from lxml import etree

from gateways.tiss.hash import HashError, hash_agrees, message_hash
from gateways.tiss.names import ANS, ans
from gateways.tiss.xml import XmlLimits, XmlRefusedError, parse
from tests.support.tiss_samples import DATA, message_in, sample

FOLDER = DATA / "hash-vectors-utf8"
HASHED = [path.stem for path in sorted((DATA / "samples").iterdir()) if not path.stem.startswith("fault")]


class Vector(TypedDict):
    id: str
    input: str
    expected_md5: str | None


VECTORS: list[Vector] = json.loads((FOLDER / "vectors.json").read_text(encoding="utf-8"))["vectors"]
GOOD = [vector for vector in VECTORS if vector["expected_md5"]]
BAD = [vector for vector in VECTORS if not vector["expected_md5"]]


def xml(body: str) -> etree._Element:
    return etree.fromstring(f'<ans:m xmlns:ans="{ANS}">{body}</ans:m>')


def test_there_are_twenty_vectors_and_seven_hashed_samples() -> None:
    assert (len(GOOD), len(BAD), len(HASHED)) == (18, 2, 7)


@pytest.mark.parametrize("vector", GOOD, ids=lambda vector: vector["id"])
def test_every_vector_is_reproduced(vector: Vector) -> None:
    data = (FOLDER / vector["input"]).read_bytes()
    with_comments = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    assert message_hash(with_comments, "utf-8") == vector["expected_md5"]


@pytest.mark.parametrize("vector", GOOD, ids=lambda vector: vector["id"])
def test_our_own_reader_gives_the_same_wherever_no_comment_counts(vector: Vector) -> None:
    read = message_hash(parse((FOLDER / vector["input"]).read_bytes(), XmlLimits(1_000_000)), "utf-8")
    assert (read == vector["expected_md5"]) == (vector["id"] != "syn_comentario.xml")


@pytest.mark.parametrize("vector", BAD, ids=lambda vector: vector["id"])
def test_what_the_vectors_call_invalid_is_refused(vector: Vector) -> None:
    with pytest.raises((HashError, XmlRefusedError)):
        message_hash(parse((FOLDER / vector["input"]).read_bytes(), XmlLimits(1_000_000)), "utf-8")


@pytest.mark.parametrize("name", HASHED)
def test_every_sample_carries_the_hash_we_compute(name: str) -> None:
    message = message_in(sample(name))
    assert message.findtext(ans("hash")) == message_hash(message, "iso-8859-1")


def test_an_accented_message_has_two_hashes_and_both_are_recognised() -> None:
    message = message_in(sample("request_loteGuiasWS"))
    assert message_hash(message, "iso-8859-1").startswith("7e81ae88")
    assert message_hash(message, "utf-8").startswith("1755d7ae")
    assert hash_agrees(message)
    stated = message.find(ans("hash"))
    assert stated is not None
    stated.text = message_hash(message, "utf-8")
    assert hash_agrees(message)


def test_a_hash_over_trimmed_values_is_recognised() -> None:
    message = xml("<ans:a> x </ans:a><ans:b>y</ans:b><ans:hash>3e44107170a520582ade522fa73c1d15</ans:hash>")
    assert hash_agrees(message)


@pytest.mark.parametrize("body", ["<ans:a>x</ans:a>", "<ans:a>x</ans:a><ans:hash/>"])
def test_a_message_without_a_hash_does_not_agree(body: str) -> None:
    assert not hash_agrees(xml(body))


def test_a_character_outside_iso_8859_1_has_no_hash_there() -> None:
    message = xml("<ans:a>€</ans:a>")
    with pytest.raises(HashError, match="ISO-8859-1"):
        message_hash(message, "iso-8859-1")
    assert len(message_hash(message, "utf-8")) == 32
    assert not hash_agrees(xml("<ans:a>€</ans:a><ans:hash>0</ans:hash>"))
