"""States as people see them: a word, a shape and a tone, never a colour alone."""

from dataclasses import dataclass
from enum import StrEnum

from markupsafe import Markup


class Tone(StrEnum):
    """How much attention something wants."""

    CALM = "calm"
    MOVING = "moving"
    WAITING = "waiting"
    STOPPED = "stopped"
    DONE = "done"


class StateShape(StrEnum):
    """A small picture that tells states apart without colours."""

    CIRCLE = "circle"
    ARROW = "arrow"
    CLOCK = "clock"
    PAUSE = "pause"
    WARNING = "warning"
    PERSON = "person"
    CHECK = "check"
    DASH = "dash"


_LINE = 'fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"'
_SHOULDERS = "M2.800 14c.6-3 2.600-4.400 5.200-4.400s4.600 1.400 5.200 4.400"
_PATHS = {
    StateShape.CIRCLE: f'<circle cx="8" cy="8" r="5.600" {_LINE}/>',
    StateShape.ARROW: f'<path d="M2.500 8h10M8.800 4.200 12.700 8l-3.900 3.800" {_LINE}/>',
    StateShape.CLOCK: f'<circle cx="8" cy="8" r="5.900" {_LINE}/><path d="M8 4.800V8l2.300 1.600" {_LINE}/>',
    StateShape.PAUSE: '<path d="M4 3h3v10H4zM9 3h3v10H9z" fill="currentColor"/>',
    StateShape.WARNING: f'<path d="M8 2 14.300 13.300H1.700ZM8 6.300v3.200M8 11.600v.1" {_LINE}/>',
    StateShape.PERSON: f'<circle cx="8" cy="5" r="2.800" {_LINE}/><path d="{_SHOULDERS}" {_LINE}/>',
    StateShape.CHECK: f'<path d="m2.800 8.600 3.400 3.500 7-7.900" {_LINE}/>',
    StateShape.DASH: f'<path d="M3 8h10" {_LINE}/>',
}


@dataclass(frozen=True, slots=True)
class StateView:
    """A state with its words."""

    tone: Tone
    shape: StateShape
    text: str

    @property
    def picture(self) -> Markup:
        """The shape; its word stands beside it."""
        return picture(self.shape)


def picture(shape: StateShape) -> Markup:
    """A shape as SVG, without a meaning of its own to who does not see it."""
    return Markup(f'<svg viewBox="0 0 16 16" aria-hidden="true">{_PATHS[shape]}</svg>')  # noqa: S704  # ours
