"""Writes a policy file: the same content as the one that was read, with some of it changed."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

Tree = dict[str, Any]


def read_tree(text: str) -> Tree:
    """A policy file as nested values."""
    return tomllib.loads(text)


def changed(text: str, changes: Mapping[str, object]) -> str:
    """The text of a file with some values replaced, each named by its place (`limits.max_retries`).

    Comments are lost: what is written is the content alone.
    """
    tree = read_tree(text)
    for path, value in changes.items():
        *folders, name = path.split(".")
        place = tree
        for folder in folders:
            place = place.setdefault(folder, {})
        place[name] = value
    return written(tree)


def written(tree: Mapping[str, Any]) -> str:
    """Nested values as TOML: plain values first, then a table for each folder."""
    return "\n".join(_table(tree, ())) + "\n"


def _table(tree: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    plain = {name: value for name, value in tree.items() if not isinstance(value, Mapping)}
    if path and (plain or not tree):
        yield f"\n[{'.'.join(map(_key, path))}]"
    for name, value in plain.items():
        yield f"{_key(name)} = {_value(value)}"
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _table(value, (*path, name))


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if is_bare else _quoted(name)


def _value(value: object) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _quoted(text: str) -> str:
    """TOML's basic strings are JSON's, but for one sign that JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
