"""Tells a person's number by its check digits: CPF (11 digits) and CNS (15 digits)."""

import re

_GAP = r"[\W_]{0,2}"
_CPF = re.compile(rf"(?<!\d)(?=(\d{{3}}(?:{_GAP}\d{{3}}){{2}}{_GAP}\d{{2}})(?!\d))", re.ASCII)
_CNS = re.compile(rf"(?<!\d)(?=(\d{{3}}(?:{_GAP}\d{{4}}){{3}})(?!\d))", re.ASCII)


def holds_personal(text: str) -> bool:
    """Whether a valid CPF or CNS stands in the text, bare or as people write it."""
    written = (*_CPF.findall(text), *_CNS.findall(text))
    return any(is_personal(re.sub(r"\D", "", number, flags=re.ASCII)) for number in written)


def is_personal(digits: str) -> bool:
    """Whether the digits are a valid CPF or CNS."""
    return is_cpf(digits) or is_cns(digits)


def is_cpf(digits: str) -> bool:
    """Two check digits modulo 11; equal digits throughout are never given to anyone."""
    if len(digits) != 11 or len(set(digits)) == 1:
        return False
    return all(_cpf_digit(digits[:place]) == int(digits[place]) for place in (9, 10))


def is_cns(digits: str) -> bool:
    """The weighted sum is a multiple of 11; definitive and provisional cards alike."""
    if len(digits) != 15 or digits[0] not in "12789":
        return False
    return sum(int(digit) * weight for digit, weight in zip(digits, range(15, 0, -1), strict=True)) % 11 == 0


def _cpf_digit(digits: str) -> int:
    weights = range(len(digits) + 1, 1, -1)
    left = sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True)) % 11
    return 0 if left < 2 else 11 - left
