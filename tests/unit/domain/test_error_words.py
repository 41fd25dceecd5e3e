"""Errors in people's words: joined, with small words between, in any order of label and number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.catalog import Category, Team, catalog_of
from domain.classification import classify
from tests.unit.domain.deciding import POLICY, given_up, retried

CATALOG = POLICY.catalog


def category(text: str) -> str | None:
    found = classify(CATALOG, text)
    return found.category if found else None


@pytest.mark.parametrize(
    "text",
    ["invalid user or password", "usuário inválido", "falha de login", "falha no login", "erro de login",
     "failed login", "credentials rejected", "Credenciais expiraram", "account has been locked",
     "The account is locked", "conta bloqueada", "conta está bloqueada", "auth failed",
     "A senha foi bloqueada",
     "InvalidLogin", "AccessDenied", "AcessoNegado", "FailedAuthentication", "wsse:FailedAuthentication",
     "UsuárioInválido", "SenhaNãoConfere", "Usuário não autorizado", "user is not authorized",
     "O usuário não está autorizado", "401 - Não autorizado", "401: Não Autorizado", "401 not authorized"],
)  # fmt: skip
def test_a_login_refused_in_these_words_too_reaches_operations_and_is_never_retried(text: str) -> None:
    for said in (text, f"TIMEOUT: {text}"):
        decision = given_up(said)
        assert (decision.finding.category, decision.team) == ("ACCESS_DENIED", Team.OPERATIONS), said


@pytest.mark.parametrize(
    "text",
    ["ERR_401", "err 403", "status code is 401", "status is: 403", "Erro nº 401", "erro n° 401",
     "Erro n. 403", "erro número 401", "error number 401", "Error<401>",
     "401 error", "403 ERRO", "got a 401 error",
     "SERVER_ERROR: 401 error", "HTTP_ERR_401"],
)  # fmt: skip
def test_401_and_403_are_read_behind_and_before_these_labels_too(text: str) -> None:
    assert category(text) == "ACCESS_DENIED"


@pytest.mark.parametrize(
    "text",
    ["code 401", "guia 401 erro na leitura", "401 errors", "401 erros", "lote com 1401 erro", "STDERR 401",
     "the batch is 401", "erro no lote 401", "erro nos 401 itens", "nº 401", "guias 12, 401 error",
     "401 guias, erro na leitura"],
)  # fmt: skip
def test_a_number_of_guides_before_or_behind_an_error_is_no_status(text: str) -> None:
    assert category(text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [("Autorização está vencida", "AUTHORIZATION_DENIED"), ("autorização foi negada", "AUTHORIZATION_DENIED"),
     ("authorization has expired", "AUTHORIZATION_DENIED"), ("expired authorisation", "AUTHORIZATION_DENIED"),
     ("the authorisation has been denied", "AUTHORIZATION_DENIED"),
     ("procedimento não foi autorizado", "AUTHORIZATION_DENIED"),
     ("401 procedimentos não autorizados", "AUTHORIZATION_DENIED"),
     ("guia 401 não autorizada", "AUTHORIZATION_DENIED"),
     ("certificate has expired", "CHANNEL_CONFIGURATION"),
     ("o certificado está vencido", "CHANNEL_CONFIGURATION"),
     ("operadora não cadastrada", "PAYER_NOT_FOUND"), ("operadora não localizada", "PAYER_NOT_FOUND"),
     ("Beneficiário não localizado", "INVALID_PATIENT_DATA"), ("O CPF é inválido", "INVALID_PATIENT_DATA"),
     ("procedure is not covered", "NOT_COVERED"), ("duplicate", "DUPLICATE_CLAIM"),
     ("DuplicateClaim", "DUPLICATE_CLAIM"), ("plano do beneficiário foi cancelado", None)],
)  # fmt: skip
def test_small_words_between_the_words_of_an_entry_do_not_hide_it(text: str, name: str | None) -> None:
    assert category(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [("serviço está indisponível", "SERVICE_UNAVAILABLE"), ("Service is unavailable", "SERVICE_UNAVAILABLE"),
     ("connection was refused", "CONNECTION_ERROR"), ("ConnectionReset", "CONNECTION_ERROR"),
     ("The request has timed out", "TIMEOUT"), ("TooManyRequests", "RATE_LIMIT")],
)  # fmt: skip
def test_small_and_joined_words_do_not_hide_what_passes_either(text: str, name: str) -> None:
    assert retried(text).finding.category == name


@pytest.mark.parametrize(
    "text",
    ["no error in coverage", "the password", "authorization was not checked", "autorização em análise",
     "Consulta de autorização", "login", "user logged in", "certificate", "a conta foi recebida", "authority",
     "ESTA_FOI_HAS_BEEN", "is", "_IS_"],
)  # fmt: skip
def test_words_that_say_no_refusal_stay_unknown(text: str) -> None:
    assert category(text) is None


@pytest.mark.parametrize(
    ("text", "matched"),
    [("TISS_1001", "TISS:1001"), ("TISS_3160", "TISS:3160"), ("glosa_1308", "TISS:1308"),
     ("TISS código 1001", "TISS:1001"), ("TISS cod. 1001", "TISS:1001"), ("glosa código: 1308", "TISS:1308"),
     ("TISS erro 1001", "TISS:1001")],
)  # fmt: skip
def test_tiss_codes_are_read_behind_these_labels_too(text: str, matched: str) -> None:
    found = classify(CATALOG, text)
    assert found is not None
    assert found.matched == matched


@pytest.mark.parametrize(
    "text",
    [
        "TISS_4_01_00",
        "tiss_2025_01_12",
        "TISS_10011",
        "TISS código 10",
        "X_TISS 4.01",
        "arquivo TISS_2025.xml",
    ],
)
def test_versions_and_dates_behind_tiss_are_no_codes(text: str) -> None:
    assert category(text) is None


CODES = [code for kind in CATALOG.categories for code in kind.codes]


@pytest.mark.parametrize("code", CODES)
def test_a_code_that_the_catalog_knows_is_read_as_text_too(code: str) -> None:
    expected = classify(CATALOG, "", code)
    assert expected is not None
    for text in (code, f"failed: {code}.", f"({code.lower()})", f"x={code}, twice"):
        found = classify(CATALOG, text)
        assert found is not None, text
        assert (found.category, found.permanent) == (expected.category, expected.permanent), text


@pytest.mark.parametrize(
    "text",
    [
        "NET:CERTIFICATES",
        "XNET:CERTIFICATE",
        "NET: ODD",
        "TISS:4.01.00",
        "SOAP:Body",
        "http://x",
        "HTTP:401.5",
    ],
)
def test_what_only_looks_like_a_code_is_none(text: str) -> None:
    assert category(text) is None


def test_the_longest_of_the_entries_found_decides() -> None:
    kinds = [
        Category("SHORT", permanent=True, words=("NOT_ALLOWED",)),
        Category("LONG", permanent=True, words=("USER_NOT_ALLOWED",)),
    ]
    for ordered in (kinds, kinds[::-1]):
        catalog = catalog_of(ordered)
        found = [classify(catalog, text) for text in ("user is not allowed", "not allowed")]
        assert [finding and finding.category for finding in found] == ["LONG", "SHORT"]


@pytest.mark.parametrize(
    "entry", ["IS DOWN", "is_down", "PAYER IS", "PAYER_IS_DOWN", "PAYER_DOWN", "FOI NEGADO"]
)
def test_an_entry_may_itself_have_a_small_word_at_any_place(entry: str) -> None:
    catalog = catalog_of([Category("OWN", permanent=True, words=(entry,))])
    for text in ("the payer is down; foi negado", "ThePayerIsDown, FoiNegado"):
        found = classify(catalog, text)
        assert found is not None
        assert found.matched == entry


@given(st.text(alphabet="aA _-:<401ESTÁerroTISnº", max_size=400))
def test_any_text_is_read_without_error(text: str) -> None:
    classify(CATALOG, text)
