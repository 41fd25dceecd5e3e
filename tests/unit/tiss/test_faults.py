"""The fault map, entry by entry; and the default policy classifies every entry alike."""

from datetime import timedelta

import pytest

from domain import submission
from domain.classification import classify
from domain.submission import Accepted, AnswerLost, Duplicate, Failed, Glosa
from gateways.tiss.faults import FAULTS, UNNUMBERED, Kind, failure, http_failure
from gateways.tiss.glosas import tabela38
from gateways.tiss.outcomes import (
    AccessDenied,
    Ambiguous,
    Failure,
    KnownAlready,
    PayerDown,
    Refused,
    Taken,
    Transient,
    as_send_outcome,
    speaks_of_outage,
)
from workers.policy import load_policy

CATALOG = load_policy().catalog
EXPECTED: dict[str, type[Failure]] = {
    "NET:DNS": PayerDown,
    "NET:REFUSED": PayerDown,
    "NET:UNREACHABLE": PayerDown,
    "NET:CONNECT_TIMEOUT": PayerDown,
    "NET:TLS": PayerDown,
    "NET:WRITE_TIMEOUT": Transient,
    "NET:BROKEN_SEND": Transient,
    "NET:BUSY": Transient,
    "NET:CERTIFICATE": Refused,
    "NET:CLIENT_CERTIFICATE": AccessDenied,
    "NET:READ_TIMEOUT": Ambiguous,
    "NET:RESET": Ambiguous,
    "NET:TRUNCATED": Ambiguous,
    "NET:EMPTY_BODY": Ambiguous,
    "NET:NOT_HTTP": Ambiguous,
    "NET:NOT_TISS": Ambiguous,
    "NET:TOO_LARGE": Ambiguous,
    "NET:UNSAFE_XML": Ambiguous,
    "NET:ENCODING": Ambiguous,
    "NET:ANSWER_HASH": Ambiguous,
    "NET:OTHER_BATCH": Ambiguous,
    "HTTP:400": Refused,
    "HTTP:401": AccessDenied,
    "HTTP:403": AccessDenied,
    "HTTP:404": Refused,
    "HTTP:405": Refused,
    "HTTP:408": Transient,
    "HTTP:410": Refused,
    "HTTP:413": Refused,
    "HTTP:415": Refused,
    "HTTP:422": Refused,
    "CANCEL:4": Transient,
    "HTTP:425": Transient,
    "HTTP:429": Transient,
    "HTTP:500": Ambiguous,
    "HTTP:502": Ambiguous,
    "HTTP:503": Ambiguous,
    "HTTP:504": Ambiguous,
    "SOAP:Client": Refused,
    "SOAP:Server": Ambiguous,
    "FAULT:DestinatarioInvalido": Refused,
    "FAULT:RemetenteInvalido": Refused,
    "FAULT:LoginInvalido": AccessDenied,
    "FAULT:VersaoInvalida": Refused,
    "FAULT:HashInvalido": Refused,
    "FAULT:SchemaInvalido": Refused,
    "FAULT:ErroInesperadoServidor": Ambiguous,
    "TISS:1308": KnownAlready,
    "TISS:3268": KnownAlready,
    "TISS:3160": Ambiguous,
    "TISS:5010": Ambiguous,
    "TISS:5012": Ambiguous,
    "TISS:1412": Transient,
    "TISS:5008": Transient,
    "TISS:5009": Transient,
    "TISS:3162": Transient,
    "TISS:3291": Transient,
}
RETRIED = (Transient, PayerDown, Ambiguous)
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


def test_every_entry_has_a_test_and_every_kind_an_entry() -> None:
    assert set(EXPECTED) == set(FAULTS)
    assert {fault.kind for fault in FAULTS.values()} == set(Kind)


@pytest.mark.parametrize(("code", "kind"), EXPECTED.items(), ids=EXPECTED.keys())
def test_an_entry_becomes_its_outcome(code: str, kind: type[Failure]) -> None:
    outcome = failure(code)
    assert type(outcome) is kind
    assert outcome.code == code
    assert outcome.error
    assert "\n" not in outcome.error
    assert speaks_of_outage(outcome) == (code in OUTAGES)


@pytest.mark.parametrize("code", [*EXPECTED, *(f"TISS:{code}" for code in tabela38()), UNNUMBERED])
def test_the_default_policy_classifies_every_entry_alike(code: str) -> None:
    outcome = failure(code)
    found = classify(CATALOG, outcome.error, outcome.code)
    assert found is not None
    assert found.permanent == (not isinstance(outcome, RETRIED))


@pytest.mark.parametrize("code", EXPECTED)
def test_the_error_text_alone_never_turns_a_passing_failure_into_a_permanent_one(code: str) -> None:
    outcome = failure(code)
    found = classify(CATALOG, outcome.error)
    assert found is None or found.permanent == (not isinstance(outcome, RETRIED))


def test_all_other_codes_of_the_table_are_refusals_in_the_standards_words() -> None:
    special = {code for code in EXPECTED if code.startswith("TISS:")}
    plain = [code for code in tabela38() if f"TISS:{code}" not in special]
    assert len(plain) == 792 - len(special)
    assert all(isinstance(failure(f"TISS:{code}"), Refused) for code in plain)
    assert failure("TISS:1001") == Refused("TISS:1001", "REFUSED - TISS 1001 NÚMERO DA CARTEIRA INVÁLIDO")


def test_codes_nobody_knows_are_refusals_for_a_person() -> None:
    assert failure("TISS:9999") == Refused(
        "TISS:9999", "REFUSED - TISS 9999 a code that the standard does not know"
    )
    assert isinstance(failure(UNNUMBERED), Refused)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (204, "NET:NOT_TISS", Ambiguous),
        (302, "HTTP:404", Refused),
        (407, "HTTP:400", Refused),
        (418, "HTTP:400", Refused),
        (501, "HTTP:500", Ambiguous),
        (599, "HTTP:500", Ambiguous),
        (429, "HTTP:429", Transient),
    ],
)
def test_uncommon_statuses_count_as_their_family(status: int, code: str, kind: type[Failure]) -> None:
    outcome = http_failure(status)
    assert type(outcome) is kind
    assert outcome.code == code
    assert f"HTTP {status}" in outcome.error


def test_the_payers_wish_to_wait_is_kept_where_a_resend_can_help() -> None:
    wish = timedelta(minutes=2)
    for code in ("HTTP:429", "HTTP:503", "NET:REFUSED"):
        outcome = failure(code, retry_after=wish)
        assert isinstance(outcome, RETRIED)
        assert outcome.retry_after == wish


def test_outcomes_become_the_domains() -> None:
    glosas = (Glosa("guide", "1801", "PROCEDIMENTO INVÁLIDO", "GP-0001"),)
    assert as_send_outcome(Taken("9", "1.00", glosas)) == Accepted("9", glosas, "1.00")
    assert as_send_outcome(failure("TISS:3268")) == Duplicate("TISS:3268")
    domains = {
        Ambiguous: AnswerLost,
        KnownAlready: Duplicate,
        AccessDenied: submission.AccessDenied,
    }
    for code, kind in EXPECTED.items():
        assert type(as_send_outcome(failure(code))) is domains.get(kind, Failed)


def test_what_a_breaker_needs_survives_in_the_domains_words() -> None:
    wish = timedelta(seconds=7)
    for code in EXPECTED:
        found = failure(code, retry_after=wish)
        outcome = as_send_outcome(found)
        if isinstance(outcome, Failed | AnswerLost):
            assert outcome.payer_down is speaks_of_outage(found)
            assert outcome.retry_after == (None if isinstance(found, Refused) else wish)


def test_a_damaged_answers_protocol_is_for_a_person() -> None:
    damaged = Ambiguous("NET:ANSWER_HASH", "SERVER_ERROR", protocol="123")
    outcome = as_send_outcome(damaged)
    assert isinstance(outcome, AnswerLost)
    assert outcome.claimed_protocol == "123"
