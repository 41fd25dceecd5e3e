"""Whatever text comes in: the decision that was recorded follows from the text that was recorded."""

import json
from itertools import count

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from domain.legible import legible
from persistence.audit.chain import Head, seal
from persistence.audit.decision_check import decision_problem
from persistence.audit.trail import DECIDED, RECEIVED, trail_of
from persistence.repositories.draft import DecisionDraft
from persistence.repositories.policies import document, restored
from persistence.store import Store
from tests.support.builders import NOW, POLICY
from workers.policy.ruling import Question, outcome_of, rule
from workers.runtime.outcome import to_json

UNSEEN = ("\u200b", "\u00ad", "\x00", "\u202e", "\ufe0f", "\U000e0041", "\ud800", "\u3164", "\u2800")
BLANKS = ("\n", "\r\n", "\t", "\u00a0", "\u2028", "  ")
WORDS = tuple(word for category in POLICY.catalog.categories for word in category.words)
PERSONAL = (
    "CPF 529.982.247-25",
    "nome: Maria",
    "nome:\n\n\n\nMaria",
    "a@b.c",
    "senha=x",
    "2025-01-12\n10:40:00",
)
LABELS = ("HTTP", "HTTP_401", "TISS", "1801", "503", "glosa", "status", ":", "=", "…", "[number]")
PARTS = st.sampled_from((*UNSEEN, *BLANKS, *WORDS, *PERSONAL, *LABELS, " ")) | st.text(max_size=5)
TEXTS = (
    st.text() | st.lists(PARTS, max_size=30).map("".join) | st.lists(PARTS).map(lambda p: "".join(p) * 400)
)
ENDS = st.sampled_from(("", "\nlogin:\n", " senha:\r\n", ". User:\n", " nome:\n,"))
CODES = st.none() | st.sampled_from(
    ["TISS:1801", "TISS:52998224725", "HTTP:503\u200b", "TOKEN:abc", "NET:ODD"]
)
_jobs = count(1)


def drafted(claim: str, text: str, profile: str, code: str | None = None) -> DecisionDraft:
    """The draft that the worker makes of these variables."""
    variables = {"claimId": claim, "submissionError": text, "submissionErrorCode": code}
    ruling = rule(Question(variables, {}), POLICY.under(profile), NOW)
    return DecisionDraft(
        job_key=next(_jobs),
        process_instance_key=1,
        asked_count=ruling.asked_count,
        decision=ruling.decision,
        policy=ruling.policy,
        result=to_json(outcome_of(ruling)),
        elapsed_ms=lambda: 7,
    )


@settings(deadline=None, max_examples=200)
@given(st.builds(str.__add__, TEXTS, ENDS), st.sampled_from(["RN-BIL-004", "RN-BIL-005"]), CODES)
def test_for_any_text_what_was_decided_follows_from_what_was_recorded(
    text: str, profile: str, code: str | None
) -> None:
    assume(profile == "RN-BIL-005" or legible(text).strip())  # V6 refuses what cannot be seen
    draft = drafted("CLM-001-1", text, profile, code)
    events = {event.event: seal(event, Head()) for event in trail_of(draft, 0)}
    received, decided = (json.loads(events[name].data) for name in (RECEIVED, DECIDED))
    policy = restored(document(draft.policy))
    assert decision_problem(events[DECIDED], received, decided, policy) is None


@pytest.mark.parametrize("profile", ["RN-BIL-004", "RN-BIL-005"])
async def test_an_untouched_trail_of_odd_texts_is_whole(store: Store, profile: str) -> None:
    hidden = [f"INVALID_PA{odd}TIENT_DATA" for odd in (*UNSEEN, *BLANKS)]
    texts = [
        *hidden,
        *PERSONAL,
        *(f"x {text}" for text in LABELS),
        "\u200b" * 2_000 + "TIMEOUT",
        "wórd " * 400,
        "TIMEOUT\nlogin:\n",
        "Falha ao ler senha:\r\n",
    ]
    for number, text in enumerate(texts):
        await store.record(drafted(f"CLM-001-{number}", text, profile))
    async with store.reading() as tx:
        assert [problem async for problem in tx.verification.problems(NOW)] == []
        assert tx.verification.tally.decisions == len(texts)
