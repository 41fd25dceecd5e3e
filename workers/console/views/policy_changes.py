"""What changes from one policy to another, in the words of the screen."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workers.console.views.policy_board import minutes
from workers.console.views.reasons import category_name
from workers.console.words import Words
from workers.policy.tools.diff import PolicyChange

_SPAN = re.compile(r"^(\S+) to (\S+) min$")
_ENTRY = re.compile(r"^(permanent|transient), (.+)$")


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One difference."""

    what: str
    before: str
    after: str


def change_lines(changes: Sequence[PolicyChange], words: Words) -> Sequence[ChangeLine]:
    """All differences, in their order."""
    return [_line(change, words) for change in changes]


def _line(change: PolicyChange, words: Words) -> ChangeLine:
    payer, _, what = (
        change.what.rpartition(": ") if change.what.startswith("payer ") else ("", "", change.what)
    )
    name, told = _named(what, words)
    about = words("change.of_payer", payer=payer.removeprefix("payer "), what=name) if payer else name
    none = words("change.none")
    before, after = (none if one is None else told(one) for one in (change.before, change.after))
    return ChangeLine(about, before, after)


def _named(what: str, words: Words) -> tuple[str, Callable[[str], str]]:
    """What something is called, and how its values are told; what has no words here stays as it is."""
    head, _, rest = what.partition(" ")
    if head == "limits" and words.knows(f"change.{rest}"):
        return words(f"change.{rest}"), (lambda one: _limit(rest, one, words))
    if what.startswith("wait before retry ") or what.isdigit():
        return words("change.wait", n=what.split()[-1]), (lambda one: _span(one, words))
    if head == "entry":
        return words("change.entry", entry=rest), (lambda one: _entry(one, words))
    if what.startswith("team of "):
        name = category_name(what.removeprefix("team of "), words)
        return words("change.team", name=name), (lambda one: _team(one, words))
    if words.knows(f"change.{what}"):
        return words(f"change.{what}"), (lambda one: _plain(one, words))
    return what, str


def _limit(name: str, value: str, words: Words) -> str:
    in_seconds = name.endswith("_seconds") and value.isdigit()
    return words("time.minutes", n=minutes(int(value), words)) if in_seconds else value


def _span(value: str, words: Words) -> str:
    found = _SPAN.match(value)
    if found is None:
        return value
    low, high = (one.replace(".", words.point) for one in found.groups())
    return words("policy.span", low=low, high=high)


def _entry(value: str, words: Words) -> str:
    found = _ENTRY.match(value)
    return words(f"change.{found[1]}", name=category_name(found[2], words)) if found else value


def _team(value: str, words: Words) -> str:
    return words(f"team.{value}") if words.knows(f"team.{value}") else value


def _plain(value: str, words: Words) -> str:
    return words("change.no_rule") if value == "no rule" else value
