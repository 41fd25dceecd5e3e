"""Equal hashes mean equal inputs: no text of others can imitate another field, element or key."""

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from bpmn.names import JobType
from gateways.tiss.lote import Lote
from persistence.audit.chain import AuditDraft, AuditEvent, Head, is_sealed, message_form, seal
from persistence.audit.rejections import Rejection
from persistence.database.canonical import canonical, fingerprint
from persistence.repositories.claims import Arrival
from persistence.repositories.idempotency import OperationKey
from persistence.store import Store
from tests.support.builders import NOW, draft
from tests.support.services import services
from workers.config.idempotency import OperationName
from workers.jobs import all_handlers
from workers.runtime import Complete, Job

BIG = 2**53 + 1
NAMES = st.sampled_from(["a", "b", "numeroLote", "observacao"])
TEXTS = st.text(alphabet="ab=\n :<&01", max_size=6)


def element(tree: tuple[str, str, list[Any]]) -> etree._Element:
    name, text, children = tree
    made = etree.Element(name)
    made.text = text
    made.extend(element(child) for child in children)
    return made


Tree = tuple[str, str, list[Any]]
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.tuples(NAMES, TEXTS, st.just([])),
    lambda inner: st.tuples(NAMES, TEXTS, st.lists(inner, max_size=3)),
    max_leaves=6,
)


def batch(xml: etree._Element) -> Lote:
    return Lote("1", ("1",), "guiaConsulta", xml=xml)


def stripped(xml: etree._Element) -> object:
    return xml.tag, (xml.text or "").strip(), [stripped(child) for child in xml]


@given(TREES, TREES)
def test_two_batches_have_one_digest_only_if_they_say_the_same(one: Tree, other: Tree) -> None:
    first, second = element(one), element(other)
    same = batch(first).digest == batch(second).digest
    assert same == (stripped(first) == stripped(second))


@pytest.mark.parametrize(
    ("honest", "forged"),
    [
        ("<l><a>x</a><b>y</b></l>", "<l><a>x\nb=y</a></l>"),
        ("<l><a/><b>y</b></l>", "<l><a><b>y</b></a></l>"),
        ('<l><a k="1"/></l>', '<l><a k="2"/></l>'),
    ],
    ids=["line end", "nesting", "attribute"],
)
def test_a_forged_batch_is_another_batch(honest: str, forged: str) -> None:
    one, other = (batch(etree.fromstring(text)) for text in (honest, forged))
    assert one.digest != other.digest
    assert one.earlier_digest == other.earlier_digest


def test_content_is_known_by_the_hash_of_either_form() -> None:
    arrival = Arrival("CLM-1-1", "p", NOW, "new", "1", earlier_hash="old")
    assert [arrival.has_content(kept) for kept in ("new", "old", "other", None)] == [True, True, False, False]
    assert not replace(arrival, earlier_hash="").has_content("")


@given(
    st.tuples(st.integers(1, 2**63), st.text("ab_", max_size=4), st.sampled_from(OperationName), TEXTS),
    st.tuples(st.integers(1, 2**63), st.text("ab_", max_size=4), st.sampled_from(OperationName), TEXTS),
)
def test_two_operations_have_one_key_only_if_all_their_parts_are_the_same(
    one: tuple[int, str, OperationName, str], other: tuple[int, str, OperationName, str]
) -> None:
    keys = [OperationKey(str(a), b, c, {"x": d}).text for a, b, c, d in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)


def test_no_operations_name_ends_like_another() -> None:
    assert [(a, b) for a, b in permutations(OperationName, 2) if a.endswith(f"_{b}")] == []


JSON_VALUES = st.recursive(
    st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(JSON_VALUES)
def test_anything_that_json_may_hold_can_be_hashed(value: object) -> None:
    assert fingerprint(value) == fingerprint(json.loads(json.dumps(value)))


def test_half_a_surrogate_pair_in_a_variable_is_hashed_like_any_other() -> None:
    assert fingerprint({"a": "\ud800"}) != fingerprint({"a": "\ud801"})


def test_job_keys_are_texts_in_what_is_hashed_and_told() -> None:
    event = seal(AuditDraft("CLM-1-1", "RECEIVED", NOW, BIG, "{}"), Head())
    told = message_form(event)
    assert told["jobKey"] == str(BIG)
    names = ("sequence", "event", "at", "jobKey", "data")
    sealed = [told["previousHash"], "CLM-1-1", *(told[name] for name in names)]
    assert fingerprint(sealed) == event.hash
    assert Rejection(1, BIG, None, "p", "r", "i", NOW).facts["processInstanceKey"] == str(BIG)


def test_an_event_that_an_earlier_version_sealed_is_still_what_it_was() -> None:
    at = "2026-01-12T10:40:00.000000+00:00"
    earlier = fingerprint(["0" * 64, "CLM-1-1", 1, "RECEIVED", at, BIG, "{}"])
    event = AuditEvent("CLM-1-1", 1, "RECEIVED", NOW, BIG, "{}", "0" * 64, earlier)
    assert is_sealed(event)
    assert not is_sealed(replace(event, job_key=BIG + 1))


async def test_a_rejection_that_an_earlier_version_kept_is_not_kept_twice(store: Store) -> None:
    rejection = Rejection(7, 42, "CLM-1-1", "RN-BIL-004", "BIL-004-V5", "Variable retryCount", NOW)
    facts = rejection.facts | {"processInstanceKey": 42}
    earlier = seal(AuditDraft("CLM-1-1", "REJECTED", NOW, 7, canonical(facts)), Head())
    await store.run(lambda tx: tx.audit.append([earlier]))
    await store.run(lambda tx: tx.rejections.keep(rejection))
    async with store.reading() as tx:
        assert len(await tx.audit.of_claim("CLM-1-1")) == 1


async def test_a_recorded_trail_names_its_instance_as_text(store: Store) -> None:
    await store.record(draft(process_instance_key=BIG, job_key=BIG))
    async with store.reading() as tx:
        [first, *_] = await tx.audit.of_claim("CLM-001-1")
        assert json.loads(first.data)["processInstanceKey"] == str(BIG)


async def test_the_key_of_a_sends_job_is_a_text_where_the_send_is_sealed(store: Store) -> None:
    [handler] = [one for one in all_handlers(services(store)) if one.type == JobType.SUBMIT_CLAIM]
    given = {"claimId": "CLM-001-1", "payerId": "p"}
    outcome = await handler.handle(Job(BIG, JobType.SUBMIT_CLAIM, "Task_SubmitClaim", BIG, 3, {}, given))
    assert isinstance(outcome, Complete)
    async with store.reading() as tx:
        told = [json.loads(event.data) for event in await tx.audit.of_claim("CLM-001-1")]
    [sending] = [one for one in told if one["event"] == "sending"]
    assert sending["job"] == str(BIG)
    assert BIG not in [value for one in told for value in one.values()]
