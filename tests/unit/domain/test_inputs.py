"""What is accepted as input, and how a rejection reads."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.claim import CLAIM_ID_MAX, ClaimId
from domain.decision import RetryRequest
from domain.errors import DomainError, InvalidInput
from domain.inputs import VARIABLES, read_request
from domain.policy import Policy
from domain.redaction import INPUT_MAX
from tests.unit.domain.deciding import BIL_004, BIL_005, CLAIM


def read(policy: Policy = BIL_004, **variables: object) -> RetryRequest:
    return read_request({"claimId": CLAIM, "submissionError": "TIMEOUT"} | variables, policy)


def rejection(policy: Policy = BIL_004, **variables: object) -> InvalidInput:
    with pytest.raises(InvalidInput) as rejected:
        read(policy, **variables)
    return rejected.value


def test_the_smallest_request_has_defaults() -> None:
    assert read() == RetryRequest(ClaimId(CLAIM), "TIMEOUT", None, 0, None)


def test_only_six_variables_are_read() -> None:
    assert VARIABLES == (
        "claimId", "submissionError", "submissionErrorCode", "retryCount", "lastSubmissionTime",
        "deadline",
    )  # fmt: skip
    assert read(other="x", retryReason=5) == read()


def test_all_variables_are_kept() -> None:
    request = read(submissionErrorCode="HTTP:503", retryCount=3, lastSubmissionTime="2025-01-12T10:40:00Z")
    assert request.error_code == "HTTP:503"
    assert request.retry_count == 3
    assert request.last_submission_time == datetime(2025, 1, 12, 10, 40, tzinfo=UTC)


@pytest.mark.parametrize(("value", "count"), [(0, 0), (2, 2), (2.0, 2), (None, 0), (2**31 - 1, 2**31 - 1)])
def test_a_count_is_a_whole_number(value: object, count: int) -> None:
    """JSON has one kind of number, so 2.0 is 2."""
    result = read(retryCount=value).retry_count
    assert result == count
    assert type(result) is int


@pytest.mark.parametrize(
    "value", [True, False, -1, -0.5, 2.5, float("nan"), float("inf"), 2**31, "2", "two", [], {}, "²"]
)
def test_another_count_is_rejected(value: object) -> None:
    error = rejection(retryCount=value)
    assert error.rule == "BIL-004-V5"
    assert error.problem == "retryCount must be a whole number, 0 or more; 5 retries are the end"


def test_a_count_as_text_comes_with_advice() -> None:
    assert str(rejection(retryCount="2")) == (
        'Variable retryCount is a text of the form "#": retryCount must be a whole number, 0 or more; 5 '
        "retries are the end (rule BIL-004-V5). Set retryCount to the number 2, without quotes; then retry "
        "the incident in Operate."
    )
    assert rejection(retryCount=" 3 ").remedy.startswith("Set retryCount to the number 3, without quotes")
    assert rejection(retryCount="9" * 10).remedy.startswith(
        "Set retryCount to the number of retries already made"
    )
    assert rejection(retryCount="x").remedy.startswith("Set retryCount to the number of retries already made")


@pytest.mark.parametrize(
    ("text", "hour"),
    [("2025-01-12T10:40:00Z", 10), ("2025-01-12T10:40:00-03:00", 13), ("2025-01-12T10:40:00", 13),
     ("2025-01-12 10:40", 13), ("2025-01-12T10:40:00-03:00[America/Sao_Paulo]", 13),
     ("2025-01-12T10:40:00.000+02:00", 8)],
)  # fmt: skip
def test_a_time_may_have_a_zone_or_not(text: str, hour: int) -> None:
    assert read(lastSubmissionTime=text).last_submission_time == datetime(2025, 1, 12, hour, 40, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    ["", "yesterday", "2025-01-12", "2025-13-12T10:40:00", "12/01/2025 10:40", 1736678400, [2025, 1, 12],
     "0001-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "9999-12-31T23:59:59Z",
     "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "x" * 5_000,
     "2025-01-12T10:40:00Z" + " " * 80],
)  # fmt: skip
def test_another_time_is_rejected(value: object) -> None:
    error = rejection(lastSubmissionTime=value)
    assert error.rule == "BIL-004 3.1"
    assert error.variable == "Variable lastSubmissionTime"
    assert "ISO 8601" in error.problem


def test_a_code_may_be_missing_null_or_empty() -> None:
    assert read(submissionErrorCode=None).error_code is None
    assert read(submissionErrorCode="").error_code is None


@pytest.mark.parametrize("code", ["TISS:3160", "HTTP:503", "FAULT:LoginInvalido", "NET:READ_TIMEOUT", "ab:b"])
def test_a_code_names_its_scheme(code: str) -> None:
    assert read(submissionErrorCode=code).error_code == code


@pytest.mark.parametrize(
    "code", ["3160", "TISS:", ":3160", "TISS 3160", "TISS:31 60", 3160, "X" * 100 + ":1", "T:1"]
)
def test_another_code_is_rejected(code: object) -> None:
    error = rejection(submissionErrorCode=code)
    assert error.variable == "Variable submissionErrorCode"
    assert "SCHEME:CODE" in error.problem


def test_a_claim_id_is_bounded() -> None:
    longest = "CLM-" + "x" * (CLAIM_ID_MAX - 6) + "-1"
    assert str(read(claimId=longest).claim_id) == longest
    assert rejection(claimId="CLM-x" + longest[4:]).rule == "BIL-004 3.1"


@pytest.mark.parametrize(
    "claim",
    [
        "CLM-a\nb-1",
        "CLM-\x00-1",
        "CLM-\ud800-1",
        "CLM-a-1\n",
        "CLM-a-\u0661",
        "CLM-é-1",
        "CLM-a b-1",
        "CLM-[/]-1",
    ],
)
def test_a_claim_id_is_ascii_without_blanks_and_ends_in_plain_digits(claim: str) -> None:
    assert rejection(claimId=claim).variable == "Variable claimId"


def test_a_claim_id_checks_itself() -> None:
    with pytest.raises(
        ValueError, match="a claim id looks like CLM-<text>-<digits>, at most 100 letters, digits"
    ):
        ClaimId("x")


def test_an_error_text_is_bounded_but_its_start_is_kept() -> None:
    text = "TIMEOUT " + "word " * 400_000
    request = read(submissionError=text)
    assert len(request.submission_error) <= INPUT_MAX
    assert request.submission_error.startswith("TIMEOUT word")


def test_a_rejection_names_variable_value_rule_and_remedy_in_one_line() -> None:
    error = rejection(BIL_005, claimId="CLM\n529.982.247-25")
    assert isinstance(error, DomainError)
    assert error.value == "a text of another form"
    assert str(error) == (
        "Variable claimId is a text of another form: a claim id looks like CLM-<text>-<digits>, at most 100 "
        "letters, digits and . _ - (rule BIL-005 3.1). Set claimId to the claim's own id, for example "
        "CLM-001-1234567890; then retry the incident in Operate."
    )


def test_a_missing_error_text_says_so() -> None:
    assert str(rejection(submissionError=None)) == (
        "Variable submissionError is missing or null: the error of the failed submission must be a text and "
        "must not be empty (rule BIL-004-V6). Set submissionError to the error message of the last "
        "submission; then retry the incident in Operate."
    )


def test_a_wrong_code_says_so() -> None:
    assert str(rejection(submissionErrorCode="3160")) == (
        'Variable submissionErrorCode is a text of the form "####": a structured error code is SCHEME:CODE '
        "(rule BIL-004-V6). Set submissionErrorCode to a code such as TISS:3160 or HTTP:503, or remove it; "
        "then retry the incident in Operate."
    )


def test_a_wrong_time_says_so() -> None:
    assert str(rejection(lastSubmissionTime="noon")) == (
        'Variable lastSubmissionTime is a text of the form "aaaa": lastSubmissionTime must be an ISO 8601 '
        "date and time, or null (rule BIL-004 3.1). Set lastSubmissionTime to a time such as "
        "2025-01-12T10:40:00-03:00, or to null; then retry the incident in Operate."
    )


@pytest.mark.parametrize("variable", ["lastSubmissionTime", "deadline"])
@pytest.mark.parametrize(
    ("value", "form"),
    [("12/01/2025 10:40", 'a text of the form "##/##/#### ##:##"'), (1736678400, "a number"),
     (1736678400.5, "a number"), ("2025-01-12", 'a text of the form "####-##-##"'),
     ("529.982.247-25", 'a text of the form "###.###.###-##"'), ("noon", 'a text of the form "aaaa"'),
     (2**70, "a number"), (True, "True"), ([1], "a list")],
)  # fmt: skip
def test_a_refused_time_shows_its_form_and_the_form_asked_for(
    variable: str, value: object, form: str
) -> None:
    line = str(rejection(BIL_004, **{variable: value}))
    assert line.startswith(f"Variable {variable} is {form}: {variable} must be an ISO 8601 date and time")
    assert "such as 2025-01-1" in line
    assert "[number]" not in line


@pytest.mark.parametrize(
    ("value", "words"),
    [(True, "True"), (-1, "-1"), (2.5, "2.5"), (12345678901, "a number too large"),
     ("x" * 200, 'a text of the form "' + "a" * 40 + '…"'), ([1], "a list"), (timedelta(1), "a timedelta"),
     ("Maria, 529.982.247-25", 'a text of the form "aaaaa, ###.###.###-##"'),
     ("É\u0661!", 'a text of the form "a#a"')],
)  # fmt: skip
def test_values_are_shown_by_kind_and_form(value: object, words: str) -> None:
    assert rejection(retryCount=value).value == words


@given(st.text(min_size=1))
def test_no_letter_and_no_digit_of_a_refused_text_is_shown(text: str) -> None:
    form = rejection(deadline=f"{text}x").value.removeprefix("a text of the form ").strip('"…')
    assert set(form) <= set(" -+.,:;/_#a")


def test_a_number_too_long_to_write_is_rejected_without_writing_it() -> None:
    assert rejection(retryCount=10**5_000).value == "a number too large"


@pytest.mark.parametrize(
    ("value", "words"),
    [("João da Silva", "a text of another form"), ("", "an empty text"), (" ", "an empty text"),
     (52998224725, "a number"), (4711.5, "a number"), (True, "True"), (None, "missing or null"),
     (["João"], "a list")],
)  # fmt: skip
def test_a_refused_claim_id_is_never_shown_for_it_may_be_a_name(value: object, words: str) -> None:
    assert rejection(claimId=value).value == words
    assert "João" not in str(rejection(claimId=value))


@pytest.mark.parametrize("value", [2**31, 99999999999, 99999999999.0, 1e20, 2**64 - 1])
def test_a_count_too_large_says_so(value: float) -> None:
    assert rejection(retryCount=value).value == "a number too large"


@pytest.mark.parametrize(("value", "words"), [(-1, "-1"), (-99999999999, "a negative number"), (2.5, "2.5")])
def test_a_count_of_another_kind_is_shown_as_it_is(value: float, words: str) -> None:
    assert rejection(retryCount=value).value == words
