"""The diagrams are drawn for people: complete, labelled, nothing on top of anything else."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from lxml import etree

from bpmn.names import model_paths

NS = {
    "bpmn": "http://www.omg.org/spec/BPMN/20100524/MODEL",
    "bpmndi": "http://www.omg.org/spec/BPMN/20100524/DI",
    "dc": "http://www.omg.org/spec/DD/20100524/DC",
    "di": "http://www.omg.org/spec/DD/20100524/DI",
}
PICTURES = Path(__file__).parents[2] / "docs" / "images"

Point = tuple[float, float]
Segment = tuple[Point, Point]

every_model = pytest.mark.parametrize("path", model_paths(), ids=lambda path: path.stem)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of the diagram."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        beside = self.right <= other.left or other.right <= self.left
        return not (beside or self.bottom <= other.top or other.bottom <= self.top)

    def has_on_border(self, point: Point) -> bool:
        x, y = point
        on_side = x in (self.left, self.right) and self.top <= y <= self.bottom
        return on_side or (y in (self.top, self.bottom) and self.left <= x <= self.right)


def parse(path: Path) -> etree._Element:
    return etree.parse(str(path), etree.XMLParser(resolve_entities=False, no_network=True)).getroot()


def select(node: etree._Element, xpath: str) -> list[etree._Element]:
    found = node.xpath(xpath, namespaces=NS)
    assert isinstance(found, list)
    return [element for element in found if isinstance(element, etree._Element)]


def attr(node: etree._Element, name: str) -> str:
    return str(node.attrib[name])


def nodes(root: etree._Element) -> dict[str, etree._Element]:
    inner = select(root, "//bpmn:process/*[bpmn:incoming or bpmn:outgoing]")
    return {attr(node, "id"): node for node in inner}


def flows(root: etree._Element) -> dict[str, etree._Element]:
    return {attr(flow, "id"): flow for flow in select(root, "//bpmn:sequenceFlow")}


def box(bounds: etree._Element) -> Box:
    x, y, width, height = (float(attr(bounds, key)) for key in ("x", "y", "width", "height"))
    return Box(x, y, x + width, y + height)


def boxes(root: etree._Element, xpath: str) -> dict[str, Box]:
    drawn = select(root, f"{xpath}/dc:Bounds")
    return {attr(next(b.iterancestors("{*}BPMNShape", "{*}BPMNEdge")), "bpmnElement"): box(b) for b in drawn}


def shapes(root: etree._Element) -> dict[str, Box]:
    return boxes(root, "//bpmndi:BPMNShape")


def labels(root: etree._Element) -> dict[str, Box]:
    return boxes(root, "//bpmndi:BPMNLabel")


def lines(root: etree._Element) -> dict[str, list[Point]]:
    edges = select(root, "//bpmndi:BPMNEdge")
    return {
        attr(edge, "bpmnElement"): [
            (float(attr(point, "x")), float(attr(point, "y"))) for point in select(edge, "di:waypoint")
        ]
        for edge in edges
    }


def thin(segment: Segment) -> Box:
    (x1, y1), (x2, y2) = segment
    return Box(min(x1, x2) - 0.5, min(y1, y2) - 0.5, max(x1, x2) + 0.5, max(y1, y2) + 0.5)


def segments(root: etree._Element) -> Iterator[tuple[etree._Element, Box]]:
    for flow_id, points in lines(root).items():
        for segment in pairwise(points):
            yield flows(root)[flow_id], thin(segment)


def is_merge(node: etree._Element) -> bool:
    return len(select(node, "bpmn:outgoing")) == 1 and etree.QName(node).localname.endswith("Gateway")


def needs_label(root: etree._Element, flow: etree._Element) -> bool:
    source = nodes(root)[attr(flow, "sourceRef")]
    return etree.QName(source).localname == "exclusiveGateway" and not is_merge(source)


@every_model
def test_everything_in_the_process_is_drawn_once(path: Path) -> None:
    root = parse(path)
    drawn = [attr(shape, "bpmnElement") for shape in select(root, "//bpmndi:BPMNShape | //bpmndi:BPMNEdge")]
    assert sorted(drawn) == sorted([*nodes(root), *flows(root)])


@every_model
def test_no_two_shapes_overlap_but_a_boundary_event_and_its_task(path: Path) -> None:
    root = parse(path)
    attached = {(id_, node.get("attachedToRef")) for id_, node in nodes(root).items()}
    for (one, first), (two, second) in combinations(shapes(root).items(), 2):
        if (one, two) not in attached and (two, one) not in attached:
            assert not first.overlaps(second), f"{one} lies on {two}"


@every_model
def test_everything_a_person_reads_has_a_label(path: Path) -> None:
    root = parse(path)
    unnamed = [id_ for id_, node in nodes(root).items() if not node.get("name") and not is_merge(node)]
    unnamed += [id_ for id_, flow in flows(root).items() if needs_label(root, flow) and not flow.get("name")]
    assert unnamed == []


@every_model
def test_every_name_outside_a_task_has_its_place(path: Path) -> None:
    root = parse(path)
    named = {id_ for id_, element in (nodes(root) | flows(root)).items() if element.get("name")}
    tasks = {attr(task, "id") for task in select(root, "//bpmn:serviceTask")}
    assert set(labels(root)) == named - tasks


@every_model
def test_no_label_lies_on_a_shape_or_on_another_label(path: Path) -> None:
    root = parse(path)
    for one, label in labels(root).items():
        assert [two for two, shape in shapes(root).items() if label.overlaps(shape)] == [], one
    for (one, first), (two, second) in combinations(labels(root).items(), 2):
        assert not first.overlaps(second), f"the label of {one} lies on that of {two}"


@every_model
def test_no_line_runs_through_a_label_or_a_foreign_shape(path: Path) -> None:
    root = parse(path)
    for flow, line in segments(root):
        ends = {attr(flow, "sourceRef"), attr(flow, "targetRef")}
        hosts = {nodes(root)[end].get("attachedToRef") for end in ends}
        foreign = {id_: shape for id_, shape in shapes(root).items() if id_ not in ends | hosts}
        hit = [id_ for id_, taken in (*foreign.items(), *labels(root).items()) if line.overlaps(taken)]
        assert hit == [], flow.get("id")


@every_model
def test_lines_are_orthogonal_and_dock_at_the_border_of_their_shapes(path: Path) -> None:
    root = parse(path)
    for flow_id, points in lines(root).items():
        flow = flows(root)[flow_id]
        assert all(x1 == x2 or y1 == y2 for (x1, y1), (x2, y2) in pairwise(points)), flow_id
        assert shapes(root)[attr(flow, "sourceRef")].has_on_border(points[0]), flow_id
        assert shapes(root)[attr(flow, "targetRef")].has_on_border(points[-1]), flow_id


@every_model
def test_lines_cross_only_where_they_leave_the_same_element(path: Path) -> None:
    root = parse(path)
    for (one, first), (two, second) in combinations(segments(root), 2):
        if one.get("sourceRef") != two.get("sourceRef"):
            assert not first.overlaps(second), f"{one.get('id')} crosses {two.get('id')}"


@every_model
def test_the_picture_in_the_docs_shows_the_model_as_it_is(path: Path) -> None:
    root, picture = parse(path), parse(PICTURES / f"{path.stem}.svg")
    groups = {group.get("data-element-id"): group for group in select(picture, "//*[@data-element-id]")}
    for id_, element in (nodes(root) | flows(root)).items():
        label = groups.get(f"{id_}_label", groups[id_])
        shown = " ".join(str(text) for text in label.itertext()).split()
        assert shown == element.get("name", "").split(), id_
