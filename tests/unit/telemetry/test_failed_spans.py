"""A part of a trace that failed is marked, by a type or a code of ours: never in others' words."""

from datetime import timedelta
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from bpmn.names import Message
from domain.mail.codes import MailFailure
from domain.mail.sending import MailAnswerLost, MailNotSent, MailResult, MailSent, RenderedMail
from domain.submission import (
    Accepted,
    AccessDenied,
    AnswerLost,
    Duplicate,
    Failed,
    OwnTrouble,
    SendResult,
    Submission,
)
from gateways.tiss.judgement import Broken, HttpAnswer, Reply
from gateways.tiss.transport import Request
from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from gateways.zeebe.messages import ProcessMessage
from persistence.database.watch import Access
from tests.support.builders import NOW
from tests.support.mails import CIPHER
from tests.support.patients import CPF
from tests.support.spans import KeptSpans

SUBMISSION = Submission("CLM-1-1", "p", 1)
MAIL = RenderedMail("o-1", "<o-1@h>", NOW, ("a@b.example",), "s", "t", "<p>t</p>")
SAID = f"Maria da Silva, CPF {CPF}"


class Outside:
    """Answers as it is told."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def send(self, *_given: Any) -> Any:
        return self._answered()

    async def ask(self, _request: Request) -> Any:
        return self._answered()

    async def close(self) -> None:
        pass

    def _answered(self) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def status_of(kept: KeptSpans) -> tuple[StatusCode, str | None]:
    span: ReadableSpan = kept.all()[-1]
    assert SAID not in kept.text()
    assert "Maria" not in kept.text()
    return span.status.status_code, span.status.description


FAILED_SENDS: list[SendResult] = [
    Failed("SERVICE_UNAVAILABLE", said=SAID),
    AnswerLost("TIMEOUT", said=SAID),
    AccessDenied("LOGIN", said=SAID),
    OwnTrouble("NO_FILES"),
]


@pytest.mark.parametrize("result", FAILED_SENDS, ids=lambda one: type(one).__name__)
async def test_a_send_that_failed_says_which_kind_of_answer_came(result: SendResult) -> None:
    kept = KeptSpans()
    await kept.tracing.payer(Outside(result)).send(SUBMISSION, NOW)
    assert status_of(kept) == (StatusCode.ERROR, type(result).__name__)


@pytest.mark.parametrize("result", [Accepted("P-1"), Duplicate()], ids=lambda one: type(one).__name__)
async def test_a_send_that_arrived_is_no_failure(result: SendResult) -> None:
    kept = KeptSpans()
    await kept.tracing.payer(Outside(result)).send(SUBMISSION, NOW)
    assert status_of(kept) == (StatusCode.UNSET, None)


EXCHANGES: list[tuple[Reply | Exception, tuple[StatusCode, str | None]]] = [
    (Broken("NET:TIMEOUT"), (StatusCode.ERROR, "NET:TIMEOUT")),
    (HttpAnswer(503, SAID.encode()), (StatusCode.ERROR, "HTTP:503")),
    (HttpAnswer(200, b"<a/>"), (StatusCode.UNSET, None)),
    (ValueError(SAID), (StatusCode.ERROR, "ValueError")),
]


@pytest.mark.parametrize(("reply", "status"), EXCHANGES)
async def test_an_exchange_that_broke_says_by_what(
    reply: Reply | Exception, status: tuple[StatusCode, str | None]
) -> None:
    kept = KeptSpans()
    try:
        await kept.tracing.line(Outside(reply), "p").ask(Request("http://h", b"", NOW))
    except ValueError:
        assert isinstance(reply, ValueError)
    assert status_of(kept) == status


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (MailNotSent(MailFailure("550", "5.1.1", SAID)), "550"),
        (MailAnswerLost(MailFailure("ANSWER_LOST", None, SAID)), "ANSWER_LOST"),
    ],
)
async def test_a_mail_that_was_refused_says_by_which_code(result: MailResult, code: str) -> None:
    kept = KeptSpans()
    await kept.tracing.mail(Outside(result)).send(MAIL)
    assert status_of(kept) == (StatusCode.ERROR, code)
    assert (kept.all()[-1].attributes or {})["reenvio.code"] == code


async def test_a_mail_that_was_taken_is_no_failure() -> None:
    kept = KeptSpans()
    await kept.tracing.mail(Outside(MailSent("<o-1@h>"))).send(MAIL)
    assert status_of(kept) == (StatusCode.UNSET, None)
    assert "reenvio.code" not in (kept.all()[-1].attributes or {})


@pytest.mark.parametrize("access", Access)
def test_an_access_to_the_database_that_broke_says_its_errors_type_alone(access: Access) -> None:
    kept = KeptSpans()
    tracer = kept.tracing.tracer
    with tracer.start_as_current_span("job"), pytest.raises(KeyError), kept.tracing.watch(access):
        raise KeyError(SAID)
    [span, _job] = kept.all()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "KeyError")
    assert "Maria" not in kept.text()


async def test_a_message_that_the_engine_does_not_take_marks_its_span(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refused(*_given: object, **_more: object) -> None:
        raise OSError(SAID)

    kept = KeptSpans()
    async with open_channel(Plaintext("127.0.0.1:1")) as channel:
        commands = kept.tracing.commands(channel, CIPHER)
        monkeypatch.setattr(commands._client, "publish_message", refused)
        message = ProcessMessage(Message.EMAIL_QUEUED, "o-1", {}, timedelta(), "id")
        with pytest.raises(OSError, match="Maria"):
            await commands.publish(message)
    assert status_of(kept) == (StatusCode.ERROR, "OSError")
