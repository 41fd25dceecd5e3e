"""The schemas of events: each type has one, is documented with all its fields, and nothing else is."""

import json
import re
from pathlib import Path
from typing import get_args
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator

from domain.events import DomainEvent
from domain.lifecycle_events import LifecycleEvent
from gateways.event_schemas import ENVELOPE, event_types, schema, schema_text
from gateways.sink import SCHEMA_VERSION, OutgoingEvent
from persistence.audit.rejections import MESSAGE
from tests.support.builders import NOW
from tests.support.command_line import reenvio

PAGE = Path(__file__).parents[2] / "docs" / "events.md"
ROW = re.compile(r"^\| `(\w+)` \| .* \| (.*) \|$", re.MULTILINE)
every_schema = pytest.mark.parametrize("name", [ENVELOPE, *event_types()])


def test_every_type_of_event_has_a_schema_and_every_schema_its_type() -> None:
    types = {kind.__name__ for union in (DomainEvent, LifecycleEvent) for kind in get_args(union)}
    assert set(event_types()) == types | {MESSAGE}


OF_LATER = [("ClaimForwardedEvent", "1"), ("ClaimAcceptedEvent", "2")]


@pytest.mark.parametrize(("type_", "version"), [*((name, "1") for name in event_types()), *OF_LATER])
def test_the_envelope_takes_every_type_also_those_and_versions_that_come_later(
    type_: str, version: str
) -> None:
    assert _is_an_envelope(type=type_, schemaVersion=version)


@pytest.mark.parametrize("type_", ["", "claim accepted", "../envelope", "a", "E" * 65])
def test_what_is_no_name_is_no_type(type_: str) -> None:
    assert not _is_an_envelope(type=type_)


def _is_an_envelope(**given: str) -> bool:
    event = OutgoingEvent(str(UUID(int=1)), "CLM-1-1", "ClaimAcceptedEvent", "{}", NOW).fields() | given
    return Draft202012Validator(dict(schema(ENVELOPE))).is_valid(event)


def test_the_page_lists_every_type_with_the_fields_of_its_schema() -> None:
    listed = {name: re.findall(r"`(\w+)`", fields) for name, fields in ROW.findall(PAGE.read_text())}
    assert listed == {name: list(schema(name)["properties"]) for name in event_types()}


@every_schema
def test_a_schema_is_sound_says_its_version_and_what_each_field_means(name: str) -> None:
    read = schema(name)
    Draft202012Validator.check_schema(dict(read))
    assert read["$id"] == f"urn:reenvio:events:{SCHEMA_VERSION}:{name}"
    assert all(field["description"] for field in read["properties"].values())
    assert sorted(read["required"]) == sorted(read["properties"])


def test_the_command_prints_a_schema_as_it_is_and_names_the_types(tmp_path: Path) -> None:
    listed = reenvio(tmp_path, "events", "schema")
    assert all(name in listed.stdout for name in event_types())
    printed = reenvio(tmp_path, "events", "schema", "ClaimAcceptedEvent")
    assert json.loads(printed.stdout) == json.loads(schema_text("ClaimAcceptedEvent"))
    unknown = reenvio(tmp_path, "events", "schema", "Nothing")
    assert unknown.returncode == 2
    assert "ClaimAcceptedEvent" in unknown.stderr
