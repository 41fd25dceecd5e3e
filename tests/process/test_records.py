"""The view of the broker's records loses nothing when the log is rolled over between two looks."""

import json
from pathlib import Path

from tests.process.records import Records


def write(log: Path, *instances: int) -> None:
    with log.open("a") as opened:
        for instance in instances:
            value = {"elementId": "P", "processInstanceKey": instance}
            record = {
                "valueType": "PROCESS_INSTANCE",
                "intent": "ELEMENT_COMPLETED",
                "key": 1,
                "value": value,
            }
            opened.write(f"now INFO io.camunda.zeebe.broker.exporter.debug - {json.dumps(record)}\n")


def test_what_was_written_before_and_after_a_roll_over_is_read_once(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    write(log, 1)
    records = Records(log)
    assert records.ended("P") == [1]
    write(log, 2)
    log.rename(tmp_path / "broker.1.log")
    write(log, 3, 4, 5)
    assert records.ended("P") == [1, 2, 3, 4, 5]
    write(log, 6)
    assert records.ended("P") == [1, 2, 3, 4, 5, 6]
