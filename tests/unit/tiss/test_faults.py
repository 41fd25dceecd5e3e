"""The fault map, entry by entry; and the default policy classifies every entry alike."""

from datetime import timedelta

import pytest

from domain.classification import classify
from domain.submission import AccessDenied, AnswerLost, Duplicate, Failed, Failure, OwnTrouble
from gateways.tiss.faults import (
    DENIED,
    DOWN,
    DUPLICATE,
    DUPLICATE_GUIDE,
    FAULTS,
    LOST,
    LOST_DOWN,
    OURS,
    REFUSED,
    TRANSIENT,
    UNNUMBERED,
    failure,
    http_failure,
)
from gateways.tiss.glosas import tabela38
from tests.support.tiss_client import bare
from workers.policy import load_policy

CATALOG = load_policy().catalog
EXPECTED: dict[str, Failure] = {
    "NET:OWN_FILES": OURS,
    "NET:OWN_MEMORY": OURS,
    "NET:OWN_THREADS": OURS,
    "NET:DNS": DOWN,
    "NET:REFUSED": DOWN,
    "NET:UNREACHABLE": DOWN,
    "NET:CONNECT_TIMEOUT": DOWN,
    "NET:TLS": DOWN,
    "NET:WRITE_TIMEOUT": TRANSIENT,
    "NET:BROKEN_SEND": TRANSIENT,
    "NET:BUSY": TRANSIENT,
    "NET:CERTIFICATE": REFUSED,
    "NET:CLIENT_CERTIFICATE": DENIED,
    "NET:READ_TIMEOUT": LOST_DOWN,
    "NET:RESET": LOST_DOWN,
    "NET:TRUNCATED": LOST,
    "NET:EMPTY_BODY": LOST,
    "NET:NOT_HTTP": LOST,
    "NET:NOT_TISS": LOST,
    "NET:TOO_LARGE": LOST,
    "NET:UNSAFE_XML": LOST,
    "NET:ENCODING": LOST,
    "NET:ANSWER_HASH": LOST,
    "NET:OTHER_BATCH": LOST,
    "NET:CONTRADICTION": LOST,
    "HTTP:400": REFUSED,
    "HTTP:401": DENIED,
    "HTTP:403": DENIED,
    "HTTP:404": REFUSED,
    "HTTP:405": REFUSED,
    "HTTP:408": TRANSIENT,
    "HTTP:410": REFUSED,
    "HTTP:413": REFUSED,
    "HTTP:415": REFUSED,
    "HTTP:422": REFUSED,
    "CANCEL:4": TRANSIENT,
    "HTTP:425": TRANSIENT,
    "HTTP:429": TRANSIENT,
    "HTTP:500": LOST,
    "HTTP:502": LOST_DOWN,
    "HTTP:503": LOST_DOWN,
    "HTTP:504": LOST_DOWN,
    "SOAP:Client": REFUSED,
    "SOAP:Server": LOST,
    "FAULT:DestinatarioInvalido": REFUSED,
    "FAULT:RemetenteInvalido": REFUSED,
    "FAULT:LoginInvalido": DENIED,
    "FAULT:VersaoInvalida": REFUSED,
    "FAULT:HashInvalido": REFUSED,
    "FAULT:SchemaInvalido": REFUSED,
    "FAULT:ErroInesperadoServidor": LOST,
    "TISS:1308": DUPLICATE_GUIDE,
    "TISS:3268": DUPLICATE,
    "TISS:3160": LOST,
    "TISS:5010": LOST,
    "TISS:5012": LOST,
    "TISS:1412": TRANSIENT,
    "TISS:5008": TRANSIENT,
    "TISS:5009": TRANSIENT,
    "TISS:3162": TRANSIENT,
    "TISS:3291": TRANSIENT,
}
RESULTS = {
    Failed("", refused=True),
    Duplicate(),
    Duplicate(of="guide"),
    Failed(""),
    Failed("", payer_down=True),
    AnswerLost(""),
    AnswerLost("", payer_down=True),
    AccessDenied(""),
    OwnTrouble(""),
}
OUTAGES = {
    "NET:DNS",
    "NET:REFUSED",
    "NET:UNREACHABLE",
    "NET:CONNECT_TIMEOUT",
    "NET:TLS",
    "NET:READ_TIMEOUT",
    "NET:RESET",
    "HTTP:502",
    "HTTP:503",
    "HTTP:504",
}


def is_retried(result: Failure) -> bool:
    return isinstance(result, AnswerLost | OwnTrouble) or (isinstance(result, Failed) and not result.refused)


def speaks_of_outage(result: Failure) -> bool:
    return isinstance(result, Failed | AnswerLost) and result.payer_down


def test_every_entry_has_a_test_and_every_result_an_entry() -> None:
    assert set(EXPECTED) == set(FAULTS)
    assert {fault.result for fault in FAULTS.values()} == RESULTS


@pytest.mark.parametrize(("code", "expected"), EXPECTED.items(), ids=EXPECTED.keys())
def test_an_entry_becomes_its_result(code: str, expected: Failure) -> None:
    result = failure(code)
    assert bare(result) == expected
    assert result.code == code
    assert result.error
    assert "\n" not in result.error
    assert speaks_of_outage(result) == (code in OUTAGES)


@pytest.mark.parametrize("code", [*EXPECTED, *(f"TISS:{code}" for code in tabela38()), UNNUMBERED])
def test_the_default_policy_classifies_every_entry_alike(code: str) -> None:
    outcome = failure(code)
    found = classify(CATALOG, outcome.error, outcome.code)
    assert found is not None
    assert found.permanent == (not is_retried(outcome))


@pytest.mark.parametrize("code", [*EXPECTED, *(f"TISS:{code}" for code in tabela38()), UNNUMBERED])
def test_the_error_text_alone_says_what_its_code_says(code: str) -> None:
    by_code, by_text = classify(CATALOG, "", code), classify(CATALOG, failure(code).error)
    assert by_code is not None
    assert by_text is not None
    assert (by_text.classification, by_text.category) == (by_code.classification, by_code.category)


@pytest.mark.parametrize("status", range(200, 600))
def test_the_text_of_any_http_status_alone_says_what_its_code_says(status: int) -> None:
    outcome = http_failure(status)
    by_code, by_text = classify(CATALOG, "", outcome.code), classify(CATALOG, outcome.error)
    assert by_code is not None
    assert by_text is not None
    assert by_text.classification is by_code.classification


def test_all_other_codes_of_the_table_are_refusals_in_the_standards_words() -> None:
    special = {code for code in EXPECTED if code.startswith("TISS:")}
    plain = [code for code in tabela38() if f"TISS:{code}" not in special]
    assert len(plain) == 792 - len(special)
    assert all(bare(failure(f"TISS:{code}")) == REFUSED for code in plain)
    error = "REFUSED - TISS 1001 NÚMERO DA CARTEIRA INVÁLIDO"
    assert failure("TISS:1001") == Failed(error, "TISS:1001", refused=True)


def test_codes_nobody_knows_are_refusals_for_a_person() -> None:
    error = "REFUSED - TISS 9999 a code that the standard does not know"
    assert failure("TISS:9999") == Failed(error, "TISS:9999", refused=True)
    assert bare(failure(UNNUMBERED)) == REFUSED


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (204, "NET:NOT_TISS", LOST),
        (302, "HTTP:404", REFUSED),
        (407, "HTTP:400", REFUSED),
        (418, "HTTP:400", REFUSED),
        (501, "HTTP:500", LOST),
        (599, "HTTP:500", LOST),
        (429, "HTTP:429", TRANSIENT),
    ],
)
def test_uncommon_statuses_count_as_their_family(status: int, code: str, expected: Failure) -> None:
    outcome = http_failure(status)
    assert bare(outcome) == expected
    assert outcome.code == code
    assert f"HTTP {status}" in outcome.error


def test_the_payers_wish_to_wait_is_kept_where_a_resend_can_help() -> None:
    wish = timedelta(minutes=2)
    for code in ("HTTP:429", "HTTP:503", "NET:REFUSED"):
        outcome = failure(code, retry_after=wish)
        assert isinstance(outcome, Failed | AnswerLost)
        assert is_retried(outcome)
        assert outcome.retry_after == wish


def test_a_duplicate_keeps_the_payers_code_and_our_words() -> None:
    meaning = "TISS 3268 " + tabela38()["3268"]
    assert failure("TISS:3268") == Duplicate("TISS:3268", f"DUPLICATE_CLAIM - {meaning}")


def test_what_a_breaker_needs_is_in_the_result() -> None:
    wish = timedelta(seconds=7)
    for code, expected in EXPECTED.items():
        outcome = failure(code, retry_after=wish)
        if isinstance(outcome, Failed | AnswerLost):
            assert outcome.payer_down is (code in OUTAGES)
            assert outcome.retry_after == (None if expected == REFUSED else wish)
