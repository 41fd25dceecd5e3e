"""Processes that we start know their trace: a claim's begins with it, a mail goes on in its claim's."""

import json
from datetime import timedelta

import pytest
from opentelemetry.trace import format_trace_id

from bpmn.names import Message
from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from gateways.zeebe.messages import ProcessMessage
from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import cipher_of, new_key
from tests.support.faults.messages import MessageBroker, message_broker
from tests.support.spans import KeptSpans
from workers.app.tracing.spans import Untraced
from workers.claims.claim_ids import outward_id
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Outcome

CIPHER = cipher_of(new_key("k1"))
KEEP = timedelta(hours=1)
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


async def published(
    tracing: Untraced, message: Message, *, in_job: bool, claim: str = "CLM-1-1", cipher: Cipher = CIPHER
) -> MessageBroker:
    """A message from inside a job of the trace above, or from outside of any."""
    async with message_broker() as broker, open_channel(Plaintext(broker.address)) as channel:
        commands = tracing.commands(channel, cipher)

        async def handle(_job: Job) -> Outcome:
            await commands.publish(ProcessMessage(message, claim, {"a": 1}, KEEP, "id"))
            return Complete()

        if in_job:
            given = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
            await tracing.handler(JobHandler("t", (), handle), CIPHER).handle(
                Job(1, "t", "T", 5, 3, {}, given)
            )
        else:
            await handle(Job(1, "t", "T", 5, 3, {}, {}))
        return broker


def trace_in(broker: MessageBroker) -> str:
    [message] = broker.taken
    variables = json.loads(message.variables)
    assert variables["a"] == 1
    return str(variables["traceparent"]).split("-")[1]


async def test_a_claim_begins_a_trace_of_its_own_that_is_linked_to_the_job_that_asked() -> None:
    kept = KeptSpans()
    broker = await published(kept.tracing, Message.CLAIM_READY, in_job=True)
    ready, _job = kept.all()
    assert (ready.name, ready.parent) == ("claim-ready", None)
    context = ready.get_span_context()
    assert context is not None
    assert trace_in(broker) == format_trace_id(context.trace_id) != TRACE
    assert [format_trace_id(link.context.trace_id) for link in ready.links] == [TRACE]


async def test_a_claim_that_nobody_started_in_a_job_begins_one_too() -> None:
    kept = KeptSpans()
    broker = await published(kept.tracing, Message.CLAIM_READY, in_job=False)
    [ready] = kept.all()
    assert (ready.parent, tuple(ready.links)) == (None, ())
    assert len(trace_in(broker)) == 32


@pytest.mark.parametrize("cipher", [CIPHER, Cipher("", {}, lack="no key")])
async def test_a_claim_whose_id_holds_a_persons_number_is_told_of_as_its_jobs_tell_of_it(
    cipher: Cipher,
) -> None:
    kept, claim = KeptSpans(), "CLM-001-11144477735"
    await published(kept.tracing, Message.CLAIM_READY, in_job=False, claim=claim, cipher=cipher)
    [ready] = kept.all()
    told = None if cipher.lack else outward_id(cipher, claim)
    assert (ready.attributes or {}).get("reenvio.claim.id") == told
    assert "11144477735" not in kept.text()


async def test_a_mail_goes_on_in_the_trace_of_who_queued_it() -> None:
    kept = KeptSpans()
    broker = await published(kept.tracing, Message.EMAIL_QUEUED, in_job=True)
    assert trace_in(broker) == TRACE


async def test_a_message_to_a_process_that_runs_leaves_its_trace_alone() -> None:
    kept = KeptSpans()
    broker = await published(kept.tracing, Message.RETRY_NOW, in_job=True)
    assert [json.loads(message.variables) for message in broker.taken] == [{"a": 1}]


async def test_where_traces_are_off_no_process_gets_a_context() -> None:
    broker = await published(Untraced(), Message.CLAIM_READY, in_job=True)
    assert [json.loads(message.variables) for message in broker.taken] == [{"a": 1}]
