"""The epilogue's hash: MD5 over the texts of a message's leaves, in document order."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from lxml import etree

from gateways.tiss.names import Encoding, ans

_HASH = ans("hash")


class HashError(Exception):
    """A message whose hash cannot be computed, and why."""


def message_hash(message: etree._Element, encoding: Encoding = "iso-8859-1") -> str:
    """Lower-case hex over all leaves but the hash itself; names and attributes do not count."""
    return _md5(_leaves(message), encoding)


def hash_agrees(message: etree._Element) -> bool:
    """Whether the message's own hash is right in one of the ways payers compute it."""
    stated = [(element.text or "").strip().lower() for element in islice(message.iter(_HASH), 2)]
    return len(stated) == 1 and stated[0] in _variants(_leaves(message))


def _variants(leaves: list[str]) -> Iterator[str]:
    """In both encodings, and with the blanks around values left out, as some do."""
    for texts in (leaves, [leaf.strip() for leaf in leaves]):
        yield _md5(texts, "utf-8")
        with suppress(HashError):
            yield _md5(texts, "iso-8859-1")


def _md5(texts: list[str], encoding: Encoding) -> str:
    try:
        return hashlib.md5("".join(texts).encode(encoding), usedforsecurity=False).hexdigest()
    except UnicodeEncodeError:
        raise HashError(f"a character does not exist in {encoding.upper()}") from None


def _leaves(message: etree._Element) -> list[str]:
    if len(list(islice(message.iter(_HASH), 2))) > 1:
        raise HashError("it has more than one hash element")
    # a comment, where a parser kept it, counts as a leaf: the published vectors have it so
    return [node.text for node in message.iter() if len(node) == 0 and node.text and node.tag != _HASH]
