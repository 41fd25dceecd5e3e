"""The models and names.py say the same: nothing misspelt, nothing uncaught, nothing left over."""

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import pytest
from lxml import etree

from bpmn.names import (
    CANCELLED_END,
    ClaimOutcome,
    ErrorCode,
    Header,
    JobType,
    Message,
    ProcessId,
    ReviewDecision,
    ReviewReason,
    Team,
    Template,
    Variable,
    model_path,
    model_paths,
)
from domain.inputs import VARIABLES
from domain.outputs import MAX_RETRIES_EXCEEDED, PERMANENT_ERROR

NS = {
    "bpmn": "http://www.omg.org/spec/BPMN/20100524/MODEL",
    "zeebe": "http://camunda.org/schema/zeebe/1.0",
    "modeler": "http://camunda.org/schema/modeler/1.0",
}
THROWN = {
    JobType.SUBMIT_CLAIM: {ErrorCode.SUBMISSION_FAILED, ErrorCode.PAYER_UNAVAILABLE},
    JobType.RETRY_SUBMISSION_BACKOFF: {ErrorCode.MAX_RETRIES_EXCEEDED, ErrorCode.PERMANENT_ERROR},
    JobType.ANALYZE_RETRY: {ErrorCode.MAX_RETRIES_EXCEEDED, ErrorCode.PERMANENT_ERROR},
    JobType.SEND_EMAIL: {ErrorCode.EMAIL_DEAD_LETTERED},
}
LANES = f'="{JobType.SEND_EMAIL}-" + {Variable.LANE}'
"""The one job type that is an expression: mail is asked for lane by lane."""
FEEL_WORDS = {"if", "then", "else", "and", "or", "null", "get", "string", "duration"}

every_model = pytest.mark.parametrize("path", model_paths(), ids=lambda path: path.stem)


def parse(path: Path) -> etree._Element:
    return etree.parse(str(path), etree.XMLParser(resolve_entities=False, no_network=True)).getroot()


def select(node: etree._Element, xpath: str) -> list[etree._Element]:
    found = node.xpath(xpath, namespaces=NS)
    assert isinstance(found, list)
    return [element for element in found if isinstance(element, etree._Element)]


def attr(node: etree._Element, name: str) -> str:
    return str(node.attrib[name])


def everywhere(xpath: str, attribute: str) -> set[str]:
    return {attr(element, attribute) for path in model_paths() for element in select(parse(path), xpath)}


def values(names: Iterable[StrEnum]) -> set[str]:
    return {name.value for name in names}


def caught_by(root: etree._Element, task_id: str) -> set[str]:
    codes = {attr(error, "id"): attr(error, "errorCode") for error in select(root, "//bpmn:error")}
    caught = select(root, f"//bpmn:boundaryEvent[@attachedToRef='{task_id}']/bpmn:errorEventDefinition")
    return {codes[attr(event, "errorRef")] for event in caught}


def expressions(root: etree._Element) -> list[str]:
    sources = [attr(io, "source") for io in select(root, "//zeebe:output | //zeebe:input")]
    keys = [attr(key, "correlationKey") for key in select(root, "//zeebe:subscription")]
    texts = [node.text or "" for node in select(root, "//bpmn:conditionExpression | //bpmn:timeDate")]
    return sources + keys + texts


def variables_read(expression: str) -> set[str]:
    without_texts = re.sub(r'"[^"]*"', "", expression)
    return set(re.findall(r"[A-Za-z]\w*", without_texts)) - FEEL_WORDS


def test_every_packaged_model_is_a_named_process() -> None:
    folder = model_path(ProcessId.SUB_06).parent
    assert set(model_paths()) == set(folder.glob("*.bpmn"))


@every_model
def test_a_file_holds_the_one_executable_process_it_is_named_after(path: Path) -> None:
    (process,) = select(parse(path), "//bpmn:process")
    assert attr(process, "id") == path.stem
    assert attr(process, "isExecutable") == "true"


@every_model
def test_a_model_is_made_for_camunda_8_6(path: Path) -> None:
    root = parse(path)
    assert root.get(f"{{{NS['modeler']}}}executionPlatform") == "Camunda Cloud"
    assert root.get(f"{{{NS['modeler']}}}executionPlatformVersion") == "8.6.0"


def job_type(task: str) -> JobType:
    return JobType.SEND_EMAIL if task == LANES else JobType(task)


def test_job_types_are_exactly_the_named_ones() -> None:
    assert {job_type(task) for task in everywhere("//zeebe:taskDefinition", "type")} == set(JobType)


def test_messages_are_exactly_the_named_ones() -> None:
    assert everywhere("//bpmn:message", "name") == values(Message)


def test_error_codes_are_exactly_the_named_ones() -> None:
    assert everywhere("//bpmn:error", "errorCode") == values(ErrorCode)


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        (Header.TEMPLATE, Template),
        (Header.OUTCOME, ClaimOutcome),
    ],
)
def test_a_header_takes_exactly_its_named_values(header: Header, allowed: type[StrEnum]) -> None:
    assert everywhere(f"//zeebe:header[@key='{header}']", "value") == values(allowed)


def test_a_fixed_recipient_is_one_of_the_teams() -> None:
    assert everywhere(f"//zeebe:header[@key='{Header.RECIPIENT_GROUP}']", "value") <= values(Team)


def test_a_permanent_error_is_told_to_the_team_that_the_decision_names() -> None:
    root = parse(model_path(ProcessId.SUB_06))
    for boundary in select(root, "//bpmn:boundaryEvent[@attachedToRef='Task_DecideRetry']"):
        passed_on = {attr(io, "target"): attr(io, "source") for io in select(boundary, ".//zeebe:output")}
        assert passed_on[Variable.RESPONSIBLE_TEAM] == f"={Variable.RESPONSIBLE_TEAM}"
    [told] = select(root, "//bpmn:serviceTask[@id='Task_NotifyTeam']//zeebe:input")
    assert (attr(told, "source"), attr(told, "target")) == (
        f"={Variable.RESPONSIBLE_TEAM}", Variable.RECIPIENT_GROUP
    )  # fmt: skip


@pytest.mark.parametrize("process", [ProcessId.SUB_06, ProcessId.SUB_06_ANALYZE])
def test_what_ran_out_is_passed_on_and_a_permanent_error_forgets_it(process: ProcessId) -> None:
    root = parse(model_path(process))
    causes = {
        attr(boundary, "id"): attr(told, "source")
        for boundary in select(root, "//bpmn:boundaryEvent")
        for told in select(boundary, f".//zeebe:output[@target='{Variable.CAUSE}']")
    }
    assert causes == {
        "BoundaryEvent_MaxRetriesExceeded": f"={Variable.CAUSE}",
        "BoundaryEvent_PermanentError": "=null",
    }


def test_headers_are_exactly_the_named_ones() -> None:
    assert everywhere("//zeebe:header", "key") == values(Header)


def test_review_reasons_are_exactly_the_named_ones() -> None:
    sources = everywhere(f"//zeebe:output[@target='{Variable.REVIEW_REASON}']", "source")
    assert sources == {f'="{reason}"' for reason in ReviewReason if reason != ReviewReason.ARRIVAL_UNKNOWN}


def test_every_named_decision_and_no_other_leads_somewhere() -> None:
    root = parse(model_path(ProcessId.SUB_06))
    conditions = " ".join(node.text or "" for node in select(root, "//bpmn:conditionExpression"))
    assert set(re.findall(r'reviewDecision = "(\w+)"', conditions)) == values(ReviewDecision)


def test_a_claim_that_is_cancelled_from_outside_ends_where_the_model_closes_it() -> None:
    [end] = select(parse(model_path(ProcessId.SUB_06)), f"//bpmn:endEvent[@id='{CANCELLED_END}']")
    [job], [header] = select(end, ".//zeebe:taskDefinition"), select(end, ".//zeebe:header")
    assert attr(job, "type") == JobType.CLOSE_CLAIM
    assert (attr(header, "key"), attr(header, "value")) == (Header.OUTCOME, ClaimOutcome.CANCELLED)


@every_model
def test_every_variable_is_a_named_one(path: Path) -> None:
    root = parse(path)
    written = {attr(io, "target") for io in select(root, "//zeebe:output | //zeebe:input")}
    read = set().union(*(variables_read(expression) for expression in expressions(root)))
    assert written | read <= values(Variable)


def test_the_decision_speaks_of_variables_and_errors_by_their_names() -> None:
    assert set(VARIABLES) <= values(Variable)
    assert {MAX_RETRIES_EXCEEDED, PERMANENT_ERROR} == THROWN[JobType.RETRY_SUBMISSION_BACKOFF]


@every_model
def test_every_declared_message_and_error_is_used(path: Path) -> None:
    root = parse(path)
    declared = {attr(node, "id") for node in select(root, "//bpmn:message | //bpmn:error")}
    messages = {attr(node, "messageRef") for node in select(root, "//*[@messageRef]")}
    errors = {attr(node, "errorRef") for node in select(root, "//*[@errorRef]")}
    assert declared == messages | errors


@every_model
def test_every_error_a_worker_throws_is_caught_at_its_task_and_no_other(path: Path) -> None:
    root = parse(path)
    for task in select(root, "//bpmn:serviceTask"):
        (job,) = select(task, ".//zeebe:taskDefinition")
        assert caught_by(root, attr(task, "id")) == THROWN.get(job_type(attr(job, "type")), set()), task.get(
            "id"
        )


@every_model
def test_every_caught_error_passes_its_variables_on(path: Path) -> None:
    for boundary in select(parse(path), "//bpmn:boundaryEvent[bpmn:errorEventDefinition]"):
        assert select(boundary, ".//zeebe:output"), boundary.get("id")


@every_model
def test_every_awaited_message_finds_its_claim_by_the_claim_id(path: Path) -> None:
    root = parse(path)
    for event in select(root, "//bpmn:intermediateCatchEvent/bpmn:messageEventDefinition"):
        (key,) = select(root, f"//bpmn:message[@id='{attr(event, 'messageRef')}']//zeebe:subscription")
        assert attr(key, "correlationKey") == f"={Variable.CLAIM_ID}"


@every_model
def test_every_job_says_how_often_a_technical_failure_is_repeated(path: Path) -> None:
    for job in select(parse(path), "//zeebe:taskDefinition"):
        assert int(attr(job, "retries")) >= 1


@every_model
def test_a_gateway_that_splits_has_a_default_and_a_condition_on_every_other_flow(path: Path) -> None:
    root = parse(path)
    for gateway in select(root, "//bpmn:exclusiveGateway[count(bpmn:outgoing) > 1]"):
        flows = select(root, f"//bpmn:sequenceFlow[@sourceRef='{attr(gateway, 'id')}']")
        unconditional = [flow.get("id") for flow in flows if not select(flow, "bpmn:conditionExpression")]
        assert unconditional == [gateway.get("default")]


@every_model
def test_flows_meet_only_at_gateways(path: Path) -> None:
    joined = select(parse(path), "//bpmn:process/*[count(bpmn:incoming) > 1]")
    assert {etree.QName(node).localname for node in joined} <= {"exclusiveGateway"}
