"""A payer that follows a script: for practice without a network and for tests; it keeps no state."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain.practice import practice_protocol
from domain.submission import (
    Accepted,
    AccessDenied,
    AnswerLost,
    Duplicate,
    Failed,
    SendResult,
    Submission,
)


class ScriptLine(BaseModel):
    """A line of a script; unknown words are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class AcceptLine(ScriptLine):
    """Take the claim."""

    do: Literal["accept"] = "accept"


class FailLine(ScriptLine):
    """Answer with an error."""

    do: Literal["fail"] = "fail"
    error: str
    code: str | None = None
    payer_down: bool = False
    retry_after: timedelta | None = None


class LoseAnswerLine(ScriptLine):
    """Take the claim and let the answer get lost on the way."""

    do: Literal["lose-answer"] = "lose-answer"
    error: str = "TIMEOUT - no answer within 30s after the request was sent"


class DuplicateLine(ScriptLine):
    """Say that the claim is known."""

    do: Literal["duplicate"] = "duplicate"


class DenyAccessLine(ScriptLine):
    """Refuse our credentials."""

    do: Literal["deny-access"] = "deny-access"
    error: str = "UNAUTHORIZED - login or password is wrong"


Answer = Annotated[
    AcceptLine | FailLine | LoseAnswerLine | DuplicateLine | DenyAccessLine,
    Field(discriminator="do"),
]


class OutageLine(ScriptLine):
    """A payer answers nothing but an error between two moments; `payer_down` lets the breaker hear it."""

    payer: str
    start: datetime
    end: datetime
    error: str = "SERVICE_UNAVAILABLE - 503"
    code: str | None = "HTTP:503"
    payer_down: bool = False

    def hits(self, submission: Submission, now: datetime) -> bool:
        """Whether a send at this moment meets the outage."""
        return self.payer == submission.payer_id and self.start <= now < self.end


class Script(ScriptLine):
    """Outages by payer, and answers by claim: one per send, the last one for ever."""

    outages: tuple[OutageLine, ...] = ()
    answers: Mapping[str, tuple[Answer, ...]] = {}


class ScriptedPayer:
    """Answers each send by the script; what the script does not mention is accepted."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def send(self, submission: Submission, now: datetime) -> SendResult:
        """The scripted answer to this send."""
        for outage in self._script.outages:
            if outage.hits(submission, now):
                return Failed(outage.error, outage.code, payer_down=outage.payer_down)
        answers = self._script.answers.get(submission.claim_id) or (AcceptLine(),)
        return _result(answers[min(submission.attempt, len(answers)) - 1], submission)


def _result(answer: Answer, submission: Submission) -> SendResult:
    match answer:
        case AcceptLine():
            return Accepted(practice_protocol(submission.claim_id))
        case FailLine(error=error, code=code, payer_down=down, retry_after=wait):
            return Failed(error, code, wait, down)
        case LoseAnswerLine(error=error):
            return AnswerLost(error)
        case DuplicateLine():
            return Duplicate()
        case DenyAccessLine(error=error):
            return AccessDenied(error, "HTTP:401")
        case _:
            assert_never(answer)


def read_script(file: Path) -> Script:
    """A script from a JSON file; a ValueError says in one line what is wrong with it."""
    try:
        return Script.model_validate(json.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise ValueError(f"Payer script {file}: {error.strerror}") from error
    except (ValidationError, json.JSONDecodeError) as error:
        raise ValueError(f"Payer script {file} is not valid: {error}") from error
