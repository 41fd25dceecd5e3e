"""Why something happened, as a sentence that a clerk understands, with the code at its end.

The words are ours or the standard's table; nothing that a payer wrote itself gets here.
"""

import re

from domain.reviews import ReviewReason
from gateways.tiss.glosas import UNKNOWN, glosa_meaning
from workers.console.words import Words

_CODE = re.compile(r"\b(TISS|HTTP|SOAP):([A-Za-z0-9_]{1,24})")
_GLOSA = "TISS"


def error_sentence(category: str, error: str, words: Words) -> str:
    """An error as it is kept: its category, and the entry of the catalog that was found."""
    code = _CODE.search(error)
    said = _meaning(code, words) or category_name(category, words)
    return f"{said} ({code[1]} {code[2]})" if code else said


def category_name(category: str | None, words: Words) -> str:
    """A kind of error; one of a policy of your own has no words here."""
    name = f"category.{category}"
    return words(name) if category and words.knows(name) else words("category.other")


def review_cause(reason: str | None, category: str | None, words: Words) -> str:
    """Why a group of claims waits for people."""
    if reason == ReviewReason.PERMANENT_ERROR and category:
        return category_name(category, words)
    name = f"review.{reason}"
    return words(name) if reason and words.knows(name) else words("review.other")


def _meaning(code: re.Match[str] | None, words: Words) -> str:
    """The standard's own meaning; it is written in Portuguese, in capitals."""
    if code is None or code[1] != _GLOSA or words.language != "pt":
        return ""
    meaning = glosa_meaning(code[2])
    return "" if meaning == UNKNOWN else meaning.capitalize()
