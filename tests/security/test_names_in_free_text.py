"""What leaves towards engine, logs, audit and queue is built from an allow-list."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.catalog import Category, catalog_of
from domain.claim import ClaimId
from domain.decision import RetryRequest, decide, find
from domain.events import events_of, payload
from domain.outputs import audit_record, bpmn_error, output_variables
from tests.support.foreign_texts import CODES, SECRETS, TEXTS
from workers.policy import load_policy
from workers.policy.ruling import Question, rule

BIL_004, BIL_005 = (load_policy().under(name) for name in ("RN-BIL-004", "RN-BIL-005"))
NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)
CLAIM = "CLM-001-123"
WORDS = [word for entries in (BIL_004.catalog.permanent_words, BIL_004.catalog.transient_words)
         for word, _ in entries]  # fmt: skip
KNOWN_CODES = sorted(BIL_004.catalog.codes)
LABELS = ["HTTP 503", "TISS 9999", "glosa 1308", "401", "Error 401", " (", ")", "UNKNOWN_ERROR", "\n", " - "]
PARTS = st.one_of(st.text(max_size=40), st.sampled_from([*WORDS, *KNOWN_CODES, *LABELS]))
ANY_TEXT = st.lists(PARTS, max_size=5)
ODD_CODES = st.from_regex(r"[A-Za-z]{2,12}:[\w.\-]{1,20}", fullmatch=True)
ANY_CODE = st.one_of(st.none(), st.sampled_from([*CODES, *KNOWN_CODES]), ODD_CODES)


def told(text: str, code: str | None, retry_count: int = 0) -> str:
    """Everything that a decision tells anybody."""
    told = []
    for policy in (BIL_004, BIL_005):
        given = {
            "claimId": CLAIM,
            "submissionError": text,
            "submissionErrorCode": code,
            "retryCount": retry_count,
        }
        decision = rule(Question(given, {}), policy, NOW).decision
        told += [output_variables(decision, policy.profile), audit_record(decision, policy.profile)]
        told += [payload(event) for event in events_of(decision, policy.profile)]
        told += [asdict(decision.finding)]
        if not told[0]["shouldRetry"]:
            told.append(asdict(bpmn_error(decision)))  # type: ignore[arg-type]
    return json.dumps(told, ensure_ascii=False, default=str)


@pytest.mark.parametrize("retry_count", [0, 5])
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("text", TEXTS)
def test_nothing_that_a_decision_tells_holds_a_word_of_the_foreign_text(
    text: str, code: str | None, retry_count: int
) -> None:
    everything = told(text, code, retry_count)
    assert [secret for secret in SECRETS if secret in everything] == []


@settings(max_examples=500)
@given(ANY_TEXT.map("".join).filter(str.strip), ANY_CODE)
def test_what_is_told_of_an_error_is_decided_as_the_error_was(text: str, code: str | None) -> None:
    for policy in (BIL_004, BIL_005):
        request = RetryRequest(ClaimId(CLAIM), text, code)
        first = decide(request, policy, NOW)
        again = decide(RetryRequest(ClaimId(CLAIM), first.last_error, first.error_code), policy, NOW)
        assert again.finding == first.finding
        assert (again.last_error, again.error_code) == (first.last_error, first.error_code)
        alone = find(RetryRequest(ClaimId(CLAIM), first.last_error), policy)
        assert (alone.classification, alone.category, alone.matched, alone.team) == (
            first.finding.classification, first.finding.category, first.finding.matched, first.finding.team
        )  # fmt: skip


@settings(max_examples=300)
@given(ANY_TEXT.map("".join).filter(str.strip), ANY_CODE)
def test_what_is_told_is_one_of_the_catalogs_own_entries(text: str, code: str | None) -> None:
    entries = {
        form
        for kind in BIL_004.catalog.categories
        for entry in (*kind.words, *kind.codes)
        for form in (entry, f"{kind.name} ({entry})")
    } | {"UNKNOWN_ERROR"}
    refusals = {f"UNKNOWN_REFUSAL (TISS:{number:04d})" for number in range(10_000)}
    assert decide(RetryRequest(ClaimId(CLAIM), text, code), BIL_004, NOW).last_error in entries | refusals


def test_a_catalog_with_a_word_of_ours_does_not_change_what_an_unknown_error_is() -> None:
    odd = catalog_of([Category("OWN", permanent=True, words=("ERROR", "NOT_IN_CATALOG")),
                      Category("HTTP_503", permanent=False, words=("HTTP_503",)),
                      Category("OTHER", permanent=True, codes=("HTTP:503",))])  # fmt: skip
    policy = replace(BIL_004, catalog=odd)
    for text in ("hm", "an ERROR", "XHTTP_503", "HTTP_503"):
        first = decide(RetryRequest(ClaimId(CLAIM), text), policy, NOW)
        again = decide(RetryRequest(ClaimId(CLAIM), first.last_error), policy, NOW)
        assert again.finding == first.finding, text
        assert again.last_error == first.last_error
