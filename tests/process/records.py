"""What the broker itself recorded, from its debug exporter: elements, variables, incidents."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

EXPORTER = {
    "ZEEBE_BROKER_EXPORTERS_DEBUG_CLASSNAME": "io.camunda.zeebe.broker.exporter.debug.DebugLogExporter",
    "ZEEBE_BROKER_EXPORTERS_DEBUG_ARGS_LOGLEVEL": "info",
}
_MARK = "io.camunda.zeebe.broker.exporter.debug - {"


@dataclass(frozen=True, slots=True)
class Record:
    """One event of the engine."""

    kind: str
    intent: str
    key: int
    value: dict[str, Any]


class Records:
    """Follows the broker's log; rolled files are read before the current one."""

    def __init__(self, log_file: Path) -> None:
        self._log_file = log_file
        self._file: int | None = None
        self._position = 0
        self._seen: list[Record] = []

    def of_instance(self, instance: int, kind: str, intent: str) -> list[Record]:
        """The instance's records of a kind, in order."""
        self._read()
        return [
            record
            for record in self._seen
            if (record.kind, record.intent) == (kind, intent)
            and record.value.get("processInstanceKey") == instance
        ]

    def variables(self, instance: int) -> dict[str, Any]:
        """The latest value of every variable in the process's own scope."""
        changes = [
            record
            for intent in ("CREATED", "UPDATED")
            for record in self.of_instance(instance, "VARIABLE", intent)
            if record.value["scopeKey"] == instance
        ]
        return {change.value["name"]: json.loads(change.value["value"]) for change in changes}

    def completed(self, instance: int) -> list[str]:
        """The ids of the elements that completed, in order."""
        done = self.of_instance(instance, "PROCESS_INSTANCE", "ELEMENT_COMPLETED")
        return [record.value["elementId"] for record in done]

    def ended(self, process: str) -> list[int]:
        """The instances of a process that have completed, in order."""
        self._read()
        return [
            record.value["processInstanceKey"]
            for record in self._seen
            if (record.kind, record.intent) == ("PROCESS_INSTANCE", "ELEMENT_COMPLETED")
            and record.value["elementId"] == process
        ]

    def instance_with(self, name: str, value: str) -> int:
        """The one process instance that was given this variable."""
        [instance] = self.started_with(name, value)
        return int(instance)

    def started_for(self, claim_id: str) -> set[int]:
        """The process instances that were started for a claim."""
        return self.started_with("claimId", claim_id)

    def started_with(self, name: str, value: str) -> set[int]:
        """The process instances that were given this variable."""
        self._read()
        return {
            record.value["processInstanceKey"]
            for record in self._seen
            if (record.kind, record.intent) == ("VARIABLE", "CREATED")
            and (record.value["name"], record.value["value"]) == (name, json.dumps(value))
        }

    def everything(self) -> str:
        """All records as text, for looking for what must not be there."""
        self._read()
        return "\n".join(json.dumps(record.value, ensure_ascii=False) for record in self._seen)

    def _read(self) -> None:
        with self._log_file.open("rb") as log:
            file = os.fstat(log.fileno()).st_ino
            if self._file not in (None, file):
                self._read_rolled()
            self._file = file
            self._read_on(log)

    def _read_rolled(self) -> None:
        """The rest of the file that was followed: it was rolled over since, and has another name."""
        for rolled in self._log_file.parent.glob(f"{self._log_file.stem}.*{self._log_file.suffix}"):
            with rolled.open("rb") as log:
                if os.fstat(log.fileno()).st_ino == self._file:
                    self._read_on(log)
        self._position = 0

    def _read_on(self, log: BinaryIO) -> None:
        log.seek(self._position)
        for line in log:
            if not line.endswith(b"\n"):
                break
            self._position += len(line)
            self._take(line.decode(errors="replace"))

    def _take(self, line: str) -> None:
        _, mark, text = line.partition(_MARK)
        if mark:
            raw = json.loads("{" + text)
            self._seen.append(Record(raw["valueType"], raw["intent"], raw["key"], raw["value"]))
