"""Small models for tests: a modeller's own process around one of our job types."""

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

_MODEL = """<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="D" targetNamespace="urn:test">
  <bpmn:process id={process} isExecutable="true">
    <bpmn:startEvent id="Start"><bpmn:outgoing>F1</bpmn:outgoing></bpmn:startEvent>
    <bpmn:serviceTask id="Task">
      <bpmn:extensionElements>
        <zeebe:taskDefinition type={job_type} retries="3" />
        <zeebe:taskHeaders>{headers}</zeebe:taskHeaders>
      </bpmn:extensionElements>
      <bpmn:incoming>F1</bpmn:incoming><bpmn:outgoing>F2</bpmn:outgoing>
    </bpmn:serviceTask>
    <bpmn:endEvent id="End"><bpmn:incoming>F2</bpmn:incoming></bpmn:endEvent>
    <bpmn:sequenceFlow id="F1" sourceRef="Start" targetRef="Task" />
    <bpmn:sequenceFlow id="F2" sourceRef="Task" targetRef="End" />
  </bpmn:process>
</bpmn:definitions>
"""


def one_task(folder: Path, process: str, job_type: str, headers: Mapping[str, str]) -> Path:
    """A process of one service task, as a file ready to deploy."""
    lines = "".join(
        f"<zeebe:header key={quoteattr(key)} value={quoteattr(value)} />" for key, value in headers.items()
    )
    file = folder / f"{process}.bpmn"
    model = _MODEL.format(process=quoteattr(process), job_type=quoteattr(job_type), headers=lines)
    file.write_text(model, encoding="utf-8")
    return file
