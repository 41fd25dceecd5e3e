"""A job's span: whose child it is, what it leaves to its process, and what it never tells."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, StatusCode, format_span_id, format_trace_id

from domain.observations import ClaimSent, InputRejected
from domain.submission import Failed
from persistence.encryption.keys import cipher_of, new_key
from tests.support.patients import CPF
from tests.support.spans import KeptSpans
from workers.app.tracing.spans import Untraced
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Fail, Incident, Outcome, Postpone, Throw

CIPHER = cipher_of(new_key("k1"))
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GIVEN = f"00-{TRACE}-{SPAN}-01"
NOT_ONE: list[Any] = [
    *(
        None,
        7,
        "",
        [],
        {},
        "Maria da Silva",
        GIVEN.upper(),
        GIVEN + "\n",
        " " + GIVEN,
        GIVEN + "-x",
        "x" * 9999,
    ),
    *(f"01-{TRACE}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01", f"00-{TRACE}-{SPAN}"),
    "00-٤bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
]


class Handler:
    """Answers as it is told, and remembers the jobs it was given."""

    def __init__(self, outcome: Outcome | BaseException) -> None:
        self.outcome = outcome
        self.jobs: list[Job] = []

    async def handle(self, job: Job) -> Outcome:
        self.jobs.append(job)
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome

    def plain(self) -> JobHandler:
        return JobHandler("submit-claim", ("claimId",), self.handle)


def a_job(key: int = 1, *, instance: int = 5, **variables: Any) -> Job:
    return Job(key, "submit-claim", "Task", instance, 3, {}, {"claimId": "CLM-1-1"} | variables)


async def ran(kept: KeptSpans, outcome: Outcome | BaseException, job: Job) -> Outcome:
    return await kept.tracing.handler(Handler(outcome).plain(), CIPHER).handle(job)


def ids(span: ReadableSpan) -> tuple[str, str | None]:
    context, parent = span.get_span_context(), span.parent
    assert context is not None
    return format_trace_id(context.trace_id), format_span_id(parent.span_id) if parent else None


def context_of(span: ReadableSpan) -> SpanContext:
    context = span.get_span_context()
    assert context is not None
    return context


async def test_a_job_is_a_child_of_the_context_that_its_process_carries_and_leaves_it_as_it_is() -> None:
    kept, inner = KeptSpans(), Handler(Complete({"a": 1}))
    traced = kept.tracing.handler(inner.plain(), CIPHER)
    assert traced.variables == ("claimId", "traceparent")
    assert await traced.handle(a_job(traceparent=GIVEN)) == Complete({"a": 1})
    assert [ids(span) for span in kept.all()] == [(TRACE, SPAN)]
    assert inner.jobs == [a_job()]


@pytest.mark.parametrize("outcome", [Complete({"a": 1}), Throw("CODE", "why", {"a": 1})])
async def test_the_first_job_leaves_its_context_to_the_process(outcome: Complete | Throw) -> None:
    kept = KeptSpans()
    told = await ran(kept, outcome, a_job())
    [span] = kept.all()
    context = context_of(span)
    left = f"00-{format_trace_id(context.trace_id)}-{format_span_id(context.span_id)}-01"
    assert told == replace(outcome, variables={"a": 1, "traceparent": left})


@pytest.mark.parametrize(
    "outcome", [Fail("why", timedelta(1)), Incident("why"), Postpone("why", timedelta(1))]
)
async def test_an_outcome_that_brings_the_process_nothing_stays_as_it_is(outcome: Outcome) -> None:
    assert await ran(KeptSpans(), outcome, a_job()) == outcome


async def test_jobs_that_find_no_context_are_in_one_trace_per_instance_in_whichever_worker() -> None:
    workers = KeptSpans(), KeptSpans()
    for kept in workers:
        for key in (1, 2):
            await ran(kept, Complete(), a_job(key))
    spans = [span for kept in workers for span in kept.all()]
    assert len({ids(span) for span in spans}) == 1
    assert len({context_of(span).span_id for span in spans}) == 4
    other = KeptSpans()
    await ran(other, Complete(), a_job(instance=6))
    await ran(other, Complete(), a_job(claimId="CLM-1-2"))
    assert len({ids(span) for span in (*spans, *other.all())}) == 3


@pytest.mark.parametrize("given", NOT_ONE)
async def test_what_has_not_the_form_of_a_context_counts_as_none(given: Any) -> None:
    kept, plain = KeptSpans(), KeptSpans()
    assert "traceparent" in (await ran(kept, Complete(), a_job(traceparent=given))).variables  # type: ignore[union-attr]
    await ran(plain, Complete(), a_job())
    assert [ids(span) for span in kept.all()] == [ids(span) for span in plain.all()]
    assert "Maria" not in kept.text()


async def test_a_claim_that_is_not_sampled_is_not_in_any_job() -> None:
    kept = KeptSpans(ratio=0.0)
    told = await ran(kept, Complete(), a_job())
    assert isinstance(told, Complete)
    assert told.variables["traceparent"].endswith("-00")
    await ran(kept, Complete(), a_job(traceparent=told.variables["traceparent"]))
    assert kept.all() == ()
    with kept.tracing.watch("read") as nothing:  # type: ignore[arg-type]
        assert nothing is None


async def test_whoever_asked_for_a_trace_gets_it_whatever_the_ratio() -> None:
    kept = KeptSpans(ratio=0.0)
    await ran(kept, Complete(), a_job(traceparent=GIVEN))
    assert [ids(span) for span in kept.all()] == [(TRACE, SPAN)]


@pytest.mark.parametrize("error", [ValueError(f"quotes {CPF}"), asyncio.CancelledError(CPF)])
async def test_of_an_error_its_type_is_told_and_nothing_else(error: BaseException) -> None:
    kept = KeptSpans()
    with pytest.raises(type(error)):
        await ran(kept, error, a_job())
    [span] = kept.all()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, type(error).__name__)
    assert span.events == ()
    assert CPF not in kept.text()


async def test_a_claim_id_that_holds_a_persons_number_is_told_by_a_keyed_one() -> None:
    kept, personal = KeptSpans(), f"CLM-{CPF}-1"
    await ran(kept, Complete(), a_job(claimId=personal))
    [span] = kept.all()
    assert str((span.attributes or {})["reenvio.claim.id"]).startswith("CLM-H-")
    assert CPF not in kept.text()


async def test_a_span_of_what_runs_beside_no_job_is_not_made() -> None:
    kept = KeptSpans()
    with kept.tracing.watch("read"):  # type: ignore[arg-type]
        pass
    assert kept.all() == ()


async def test_what_came_of_a_send_stands_on_its_job() -> None:
    kept = KeptSpans()

    async def handle(_job: Job) -> Outcome:
        kept.tracing.observe(ClaimSent("CLM-1-1", "p", 1, Failed("why", "HTTP:503"), 0.1, 1, 5))
        kept.tracing.observe(InputRejected("RN-BIL-004", "BIL-004-V1", None, 1, 5))
        return Complete()

    await kept.tracing.handler(JobHandler("submit-claim", (), handle), CIPHER).handle(a_job())
    [span] = kept.all()
    told = {name: (span.attributes or {}).get(name) for name in ("reenvio.result", "reenvio.code")}
    assert told == {"reenvio.result": "FAILED", "reenvio.code": "HTTP:503"}
    assert "why" not in kept.text()


def test_where_traces_are_off_nothing_is_wrapped_and_no_variable_more_is_fetched() -> None:
    off, handler = Untraced(), Handler(Complete()).plain()
    assert off.handler(handler, CIPHER) is handler
    payer, mail, line = object(), object(), object()
    assert off.payer(payer) is payer  # type: ignore[arg-type]
    assert off.mail(mail) is mail  # type: ignore[arg-type]
    assert off.line(line, "p") is line  # type: ignore[arg-type]
