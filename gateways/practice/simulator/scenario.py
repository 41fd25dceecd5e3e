"""What simulated payers do: their rules, their bad days and their answers, from TOML or JSON."""

import json
import tomllib
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from domain.errors import Trouble, plain_words
from gateways.tiss.hours import PostingHours
from gateways.tiss.names import Encoding, FaultWord, Version

Delay = Annotated[float, Field(ge=0, le=3600)]
Moment = AwareDatetime | timedelta  # a duration counts from the simulator's start
Loss = Literal["close", "reset", "truncate", "hang"]


class ScenarioError(Trouble):
    """A scenario that cannot be played: one line that says why."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Accept(_Part):
    """Take the batch, perhaps with a glosa on it."""

    do: Literal["accept"] = "accept"
    delay: Delay = 0
    glosa: Literal["protocol", "guide"] | None = None
    code: str = "1801"


class Refuse(_Part):
    """Refuse the whole batch by a code of Tabela 38."""

    do: Literal["refuse"] = "refuse"
    delay: Delay = 0
    code: str


class FaultAnswer(_Part):
    """Fail with one of the seven words; `bare` puts it straight into the body."""

    do: Literal["fault"] = "fault"
    delay: Delay = 0
    word: FaultWord
    status: int = 500
    bare: bool = False


class SoapFaultAnswer(_Part):
    """Fail with a SOAP fault that has no word."""

    do: Literal["soap-fault"] = "soap-fault"
    delay: Delay = 0
    side: Literal["Client", "Server"] = "Server"
    status: int = 500


class LoseAnswer(_Part):
    """Take the batch, then let the answer get lost."""

    do: Literal["lose-answer"] = "lose-answer"
    delay: Delay = 0
    how: Loss = "close"


class Drop(_Part):
    """Read the request and let the connection go, before anything is taken."""

    do: Literal["drop"] = "drop"
    delay: Delay = 0
    how: Literal["close", "reset", "hang"] = "reset"


class Http(_Part):
    """Answer with an HTTP status and no TISS message; nothing is taken."""

    do: Literal["http"] = "http"
    delay: Delay = 0
    status: int = Field(default=503, ge=200, le=599)
    retry_after: int | None = None
    body: Literal["html", "empty"] = "html"


class Garbage(_Part):
    """Take the batch and answer nonsense, or a damaged receipt."""

    do: Literal["garbage"] = "garbage"
    delay: Delay = 0
    kind: Literal[
        "html",
        "empty",
        "noise",
        "not-http",
        "oversized",
        "entities",
        "deep",
        "cut",
        "wrong-encoding",
        "other-batch",
        "bad-hash",
    ]


Behaviour = Annotated[
    Accept | Refuse | FaultAnswer | SoapFaultAnswer | LoseAnswer | Drop | Http | Garbage,
    Field(discriminator="do"),
]


class ScenarioWindow(_Part):
    """From one moment to another on the simulator's clock."""

    start: Moment = timedelta(0)
    end: Moment

    def covers(self, now: datetime, begun: datetime) -> bool:
        """Whether the moment lies in the window."""
        return _absolute(self.start, begun) <= now < _absolute(self.end, begun)


class Outage(ScenarioWindow):
    """A window in which every request meets the same behaviour."""

    then: Behaviour = Http()


class Rule(_Part):
    """What to do with some batches; every condition given must hold."""

    lote: str = "*"
    arrivals: tuple[int, ...] = ()  # which time the batch arrives, from 1; none: every time
    every: int | None = Field(default=None, ge=1)  # each n-th request
    chance: float = Field(default=1.0, ge=0, le=1)
    window: ScenarioWindow | None = None
    then: Behaviour


class StatusStep(_Part):
    """The status of a protocol from a certain age on."""

    after: timedelta
    status: int = Field(ge=1, le=10)


class PayerScenario(_Part):
    """One simulated payer."""

    registro_ans: str = Field(pattern=r"^[0-9]{6}$")
    version: Version = Version.V4_03_00
    encoding: Encoding = "iso-8859-1"
    hash_encoding: Encoding = "iso-8859-1"
    accounts: dict[str, str] = {}  # login -> password as MD5 hex; none: everybody may
    lock_after: int = Field(default=5, ge=1)
    providers: frozenset[str] = frozenset()  # none: all are known
    latency: tuple[Delay, Delay] = (0, 0)
    requests_per_minute: int | None = Field(default=None, ge=1)
    hours: PostingHours | None = None
    refuse_by: Literal["fault", "code"] = "fault"
    outages: tuple[Outage, ...] = ()
    rules: tuple[Rule, ...] = ()
    statuses: tuple[StatusStep, ...] = (
        StatusStep(after=timedelta(0), status=1),
        StatusStep(after=timedelta(minutes=30), status=2),
        StatusStep(after=timedelta(days=1), status=3),
        StatusStep(after=timedelta(days=10), status=6),
    )
    cancel_status: int | None = Field(default=None, ge=1, le=6)  # none: by what is known
    cancelled_numbers: Literal["free", "spent"] = "free"  # whether one may come again


class Scenario(_Part):
    """All payers of one simulator; while `closed`, the port itself refuses connections."""

    seed: int = 1
    payers: tuple[PayerScenario, ...] = (PayerScenario(registro_ans="999999"),)
    closed: tuple[ScenarioWindow, ...] = ()


def read_scenario(file: Path) -> Scenario:
    """A scenario from a .toml or .json file."""
    try:
        text = file.read_text(encoding="utf-8")
        return Scenario.model_validate(json.loads(text) if file.suffix == ".json" else tomllib.loads(text))
    except OSError as error:
        raise ScenarioError(f"Scenario {file}: {error.strerror}.") from error
    except ValidationError as refused:
        faults = (f"{'.'.join(map(str, e['loc']))}: {plain_words(e['msg'])}" for e in refused.errors())
        raise ScenarioError(f"Scenario {file} cannot be played. {'; '.join(faults)}.") from None
    except ValueError as error:  # neither TOML nor JSON, or not even text
        raise ScenarioError(f"Scenario {file} cannot be read: {error}.") from error


def _absolute(moment: datetime | timedelta, begun: datetime) -> datetime:
    return begun + moment if isinstance(moment, timedelta) else moment
