"""Tells a person's number by its check digits: CPF (11 digits) and CNS (15 digits)."""


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
