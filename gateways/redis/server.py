"""What is asked of a Redis server: settings that keep events, others that are advised, and how full it is."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

MEGABYTE = 1024 * 1024
REQUIRED = {
    "appendonly": ("yes",),
    "appendfsync": ("everysec", "always"),
    "maxmemory-policy": ("noeviction",),
}
"""The settings without which events can be lost."""


@dataclass(frozen=True, slots=True)
class Advised:
    """A setting of the rules that loses nothing by itself: what it should be, and what else will do."""

    wanted: str
    will_do: Callable[[str], bool]
    why: str


def _between(least: int, most: int | None = None) -> Callable[[str], bool]:
    def will_do(value: str) -> bool:
        return value.isdecimal() and least <= int(value) and (most is None or int(value) <= most)

    return will_do


ADVISED = {
    "maxmemory": Advised(
        "512mb or more", _between(512 * MEGABYTE), "nobody can say how full it is, or it is full early"
    ),
    "aof-use-rdb-preamble": Advised("yes", lambda value: value == "yes", "it restarts slowly"),
    "auto-aof-rewrite-percentage": Advised(
        "100 or less, not 0", _between(1, 100), "its file grows without need"
    ),
    "auto-aof-rewrite-min-size": Advised(
        "64mb or less", _between(0, 64 * MEGABYTE), "its file grows without need"
    ),
}
"""The other settings of the rules."""
EVERY_SETTING = (*REQUIRED, *ADVISED)


def problems_in(settings: Mapping[str, str]) -> Iterator[str]:
    """One line for each setting that could lose events."""
    for name, allowed in REQUIRED.items():
        if settings.get(name) not in allowed:
            wanted = " or ".join(allowed)
            yield f"{name} is {settings.get(name, 'not set')}, and must be {wanted} or events can be lost"


def advice_on(settings: Mapping[str, str]) -> Iterator[str]:
    """One line for each setting that is not as the rules have it, though nothing is lost by it."""
    for name, advised in ADVISED.items():
        if not advised.will_do(settings.get(name, "")):
            found = settings.get(name, "not set")
            yield f"{name} is {found}, and should be {advised.wanted}: else {advised.why}"


def everything_wanted() -> str:
    """All settings, for a person to look at a server that does not show them."""
    required = (f"{name} is {allowed[0]}" for name, allowed in REQUIRED.items())
    return ", ".join([*required, *(f"{name} is {advised.wanted}" for name, advised in ADVISED.items())])


@dataclass(frozen=True, slots=True)
class RedisMemory:
    """How full a server is: bytes in use, the most it may use (None: no limit), connections refused."""

    used: int
    most: int | None
    rejected_connections: int

    @property
    def share(self) -> float | None:
        """used_memory / maxmemory, of which the rules' alerts speak; None without a limit."""
        return None if self.most is None else self.used / self.most


def memory_in(info: Mapping[str, object]) -> RedisMemory:
    """The figures in a server's answer to INFO."""
    used, most, rejected = (
        _number(info, name) for name in ("used_memory", "maxmemory", "rejected_connections")
    )
    return RedisMemory(used, most or None, rejected)


def _number(info: Mapping[str, object], name: str) -> int:
    return int(str(info.get(name, 0)))
