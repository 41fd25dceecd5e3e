"""Tells our own words from everybody else's, so that a text of unknown origin never passes for ours."""

import re

from domain.check_digits import holds_personal

_NUMBER = re.compile(r"(?=.*[0-9])[A-Za-z0-9][A-Za-z0-9./_\-]{0,19}", re.ASCII)


class OwnWords(str):
    """A text of our own templates, and of numbers and names that we know ourselves.

    Any other text is somebody else's and stays inside: a gateway has to say that it wrote the words itself.
    """

    __slots__ = ()


def is_business_number(text: str) -> bool:
    """Whether the text can be the number of a guide, a batch or a protocol, and of no person."""
    return _NUMBER.fullmatch(text) is not None and not holds_personal(text)
