"""Where claims stand in their model: every place that may be told is an element of it, and has its words."""

import pytest
from lxml import etree

from bpmn.names import ProcessId, model_path
from domain.claim_state import ClaimState
from workers.claims.places import ELEMENT_OF, ELEMENTS
from workers.console.words import LANGUAGES, words_of

BPMN = "{http://www.omg.org/spec/BPMN/20100524/MODEL}"
DRAWN = "{http://www.omg.org/spec/BPMN/20100524/DI}BPMNShape"
MODEL = etree.parse(model_path(ProcessId.SUB_06)).getroot()
TASKS = {one.get("id", "") for one in MODEL.iter(f"{BPMN}serviceTask")}


def test_every_state_has_a_place() -> None:
    assert set(ELEMENT_OF) == set(ClaimState)


@pytest.mark.parametrize("element", sorted(ELEMENTS))
def test_every_place_is_an_element_that_is_drawn(element: str) -> None:
    process = MODEL.find(f"{BPMN}process")
    assert process is not None
    assert element in {one.get("id") for one in process}
    assert element in {one.get("bpmnElement") for one in MODEL.iter(DRAWN)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_place_and_every_task_that_may_stand_on_an_incident_has_its_words(language: str) -> None:
    words = words_of(language)
    assert [one for one in ELEMENTS | TASKS if not words.knows(f"place.{one}")] == []
    told = {name.removeprefix("place.") for name in words.texts if name.startswith("place.")}
    known = {one.get("id") for one in MODEL.iter()}
    assert {name for name in told if name[0].isupper()} <= known
