"""Ways in which an answer can be nonsense, or a receipt be damaged."""

import random

from gateways.tiss.names import SOAP

HTML = b"<!DOCTYPE html><html><head><title>Error</title></head><body><h1>Gateway</h1></body></html>"
OVERSIZED_BYTES = 8_000_000
_ENTITIES = (
    b"<?xml version='1.0'?><!DOCTYPE e [<!ENTITY a 'aaaaaaaaaa'>"
    b"<!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY c SYSTEM 'file:///etc/hostname'>]><e>&b;&c;</e>"
)
_DEEP = b"<a>" * 200 + b"</a>" * 200


def nonsense(kind: str, receipt: bytes, rng: random.Random) -> bytes:
    """The body that goes out instead of the receipt."""
    match kind:
        case "html":
            return HTML
        case "empty":
            return b""
        case "noise":
            return rng.randbytes(400)
        case "not-http":
            return b"220 mail.example ready\r\n250 at your service\r\n\r\n"
        case "oversized":
            return receipt + b" " * OVERSIZED_BYTES
        case "entities":
            return _ENTITIES
        case "deep":
            return f'<s:Envelope xmlns:s="{SOAP}"><s:Body>'.encode() + _DEEP + b"</s:Body></s:Envelope>"
        case _:
            return _damaged(kind, receipt)


def _damaged(kind: str, receipt: bytes) -> bytes:
    match kind:
        case "cut":
            return receipt[: len(receipt) * 2 // 3]
        case "wrong-encoding":
            return receipt.replace(b"ISO-8859-1", b"UTF-8", 1)
        case "other-batch":
            return _changed(receipt, b"numeroLote>")
        case _:
            return _changed(receipt, b"numeroProtocolo>")


def _changed(receipt: bytes, after: bytes) -> bytes:
    """Another digit in the element's value; the hash does not agree any more."""
    place = receipt.find(after) + len(after)
    digit = b"1" if receipt[place : place + 1] != b"1" else b"2"
    return receipt[:place] + digit + receipt[place + 1 :]
