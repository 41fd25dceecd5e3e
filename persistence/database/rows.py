"""Values to rows, without the deep copies of `dataclasses.asdict`."""

from dataclasses import Field
from typing import Any, ClassVar, Protocol


class Record(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def row_of(record: Record) -> dict[str, Any]:
    """The fields of a record by name."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}
