"""Colours that can be read: 4.5 to 1 at least, by day and by night, for every text on every ground."""

import re

import pytest

from workers.console.views.rendering import STATIC

VARIABLE = re.compile(r"--([\w-]+): (#[0-9a-f]{6});")
TEXTS = ("text", "muted", "accent", "done", "waiting", "stopped", "moving", "calm")
GROUNDS = ("bg", "surface", "soft")
LEAST = 4.5


def schemes() -> tuple[dict[str, str], dict[str, str]]:
    day, night = (STATIC / "console.css").read_text(encoding="utf-8").split("@media", 1)
    light = dict(VARIABLE.findall(day))
    return light, light | dict(VARIABLE.findall(night))


def luminance(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", schemes(), ids=["light", "dark"])
def test_every_text_can_be_read_on_every_ground(scheme: dict[str, str]) -> None:
    pairs = [(text, ground) for text in TEXTS for ground in GROUNDS]
    pairs += [
        ("on-accent", "accent"),
        ("surface", "stopped"),
        ("text", "stopped-soft"),
        ("text", "done-soft"),
    ]
    dim = {pair: contrast(scheme[pair[0]], scheme[pair[1]]) for pair in pairs}
    assert {pair: found for pair, found in dim.items() if found < LEAST} == {}
