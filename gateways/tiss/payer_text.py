"""The words of an answer that was no yes, for the people who mend the claim; never for anything else."""

import html
import re

from gateways.tiss.judgement import HttpAnswer, Reply

READ_BYTES = 65_536
KEPT_CHARACTERS = 2_000
_TAG = re.compile(r"<[^<>]*>")


def payer_text(reply: Reply) -> str:
    """What stands between the tags of an answer, bounded; empty where none came."""
    if not isinstance(reply, HttpAnswer):
        return ""
    words = html.unescape(_TAG.sub(" ", _decoded(reply.body[:READ_BYTES])))
    return " ".join(words.split())[:KEPT_CHARACTERS]


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode("iso-8859-1")
