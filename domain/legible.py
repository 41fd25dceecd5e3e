"""The text that people read: what cannot be seen is taken out once, where a text comes in."""

import re

# printable by name, and yet nothing is to be seen of them: joiners, fillers, selectors of a letter's variant
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_BLANK_LETTERS = {ord(letter): " " for letter in "\u2800\u3164\uffa0"}
_LAYOUT = "\n\t\u00a0"
_WITHOUT_LAYOUT = dict.fromkeys(map(ord, _LAYOUT))
_LINE_ENDS = {ord("\n"): "\\n", ord("\t"): "\\t", ord("\u00a0"): " "}
_ODD_BLANKS = re.compile(r"\s\s+|[^\S \n]")


def legible(text: str) -> str:
    """The text without invisible characters, each run of blanks as one blank, or as one line end."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text
    gone = {ord(letter): "" for letter in set(text) if _is_unseen(letter)}
    return _ODD_BLANKS.sub(_blank, text.translate(gone | _BLANK_LETTERS))


def is_text(text: str) -> bool:
    """Whether all of it are characters: halves of pairs stand for bytes that nobody could read."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    """The text with all that a terminal would obey shown as its escape; line ends and tabs stay."""
    if text.isprintable() or text.translate(_WITHOUT_LAYOUT).isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in _LAYOUT else _escaped(letter) for letter in text
    )


def printable_line(text: str) -> str:
    """The same on one line."""
    return text if text.isprintable() else printable(text).translate(_LINE_ENDS)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def _is_unseen(letter: str) -> bool:
    return not (letter.isprintable() or letter.isspace()) or _UNSEEN.match(letter) is not None


def _blank(run: re.Match[str]) -> str:
    return " " if run[0].splitlines() == [run[0]] else "\n"
