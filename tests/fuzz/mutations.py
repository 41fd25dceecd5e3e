"""Ways to damage a message: bytes, pieces, tags, attacks; each by seed, so that a failure can be repeated."""

import random
import re
from collections.abc import Callable

Mutation = Callable[[bytes, random.Random], bytes]

_TAG = re.compile(rb"<[^<>]{1,200}>")
_TEXT = re.compile(rb">([^<>]{1,60})<")
_ATTACKS = (
    b"<!DOCTYPE a [<!ENTITY x 'y'>]>",
    b"<!ENTITY % p SYSTEM 'http://127.0.0.1:9/'>",
    b"&x;",
    b"&#0;",
    b"&#xFFFFFFFF;",
    b"<![CDATA[",
    b"]]>",
    b"<!--",
    b"<?xml version='1.0'?>",
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"<a>" * 300,
    b"' or 1=1",
    b"</ans:recebimentoLote>",
    b"<ans:mensagemErro/>",
    b"<ans:numeroProtocolo>123456789012</ans:numeroProtocolo>",
    b"A" * 5_000,
)


def mutated(data: bytes, seed: int) -> bytes:
    """The message after one to four mutations."""
    rng = random.Random(seed)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        data = rng.choice(MUTATIONS)(data, rng) if data else data
    return data


def flip_bits(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def change_digit(data: bytes, rng: random.Random) -> bytes:
    places = [place for place, byte in enumerate(data) if 0x30 <= byte <= 0x39]
    if not places:
        return data
    place = rng.choice(places)
    return data[:place] + str(rng.randrange(10)).encode() + data[place + 1 :]


def cut_end(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def cut_piece(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.randint(1, 200) :]


def repeat_piece(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    piece = data[start : start + rng.randint(1, 300)]
    return data[:start] + piece * rng.randint(2, 20) + data[start:]


def swap_tags(data: bytes, rng: random.Random) -> bytes:
    one, other = rng.choice(_TAG.findall(data) or [b"<a>"]), rng.choice(_TAG.findall(data) or [b"<a>"])
    return data.replace(one, b"\x01").replace(other, one).replace(b"\x01", other)


def rename_element(data: bytes, rng: random.Random) -> bytes:
    names = re.findall(rb"</([^<>]{1,80})>", data) or [b"a"]
    return data.replace(rng.choice(names) + b">", rng.choice(names) + b">")


def swap_texts(data: bytes, rng: random.Random) -> bytes:
    texts = _TEXT.findall(data) or [b"a"]
    return data.replace(b">" + rng.choice(texts) + b"<", b">" + rng.choice(texts) + b"<")


def empty_text(data: bytes, rng: random.Random) -> bytes:
    return data.replace(b">" + rng.choice(_TEXT.findall(data) or [b"a"]) + b"<", b"><")


def attack(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data))
    return data[:place] + rng.choice(_ATTACKS) + data[place:]


def recode(data: bytes, rng: random.Random) -> bytes:
    return data.decode("latin-1").encode(
        rng.choice(["utf-8", "utf-16", "utf-32", "utf-7", "cp037"]), "replace"
    )


def relabel(data: bytes, rng: random.Random) -> bytes:
    name = rng.choice([b"UTF-8", b"UTF-16", b"US-ASCII", b"x-none", b"IBM037", b""])
    return data.replace(b"ISO-8859-1", name, 1)


def noise(data: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(rng.randint(0, 2_000))


MUTATIONS: tuple[Mutation, ...] = (
    flip_bits,
    flip_bits,
    change_digit,
    change_digit,
    cut_end,
    cut_piece,
    repeat_piece,
    swap_tags,
    rename_element,
    swap_texts,
    empty_text,
    attack,
    recode,
    relabel,
    noise,
)
