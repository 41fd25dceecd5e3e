"""Which entry of the catalog decides, and which numbers are no codes."""

import pytest

from domain.catalog import (
    Catalog,
    Category,
    ErrorClassification,
    Finding,
    Origin,
    amend,
    catalog_of,
    fold,
    plain,
)
from domain.classification import classify
from tests.unit.domain.deciding import POLICY, given_up, retried

CATALOG = POLICY.catalog


def small() -> Catalog:
    return catalog_of(
        [
            Category("BAD", permanent=True, words=("BAD_NEWS",), codes=("TISS:1001",)),
            Category(
                "SLOW", permanent=False, words=("SLOW", "503"), codes=("HTTP:503",), ambiguous=("HTTP:503",)
            ),
        ],
        refusals=["TISS"],
    )


SMALL = small()


def category(text: str, code: str | None = None) -> str | None:
    found = classify(CATALOG, text, code)
    return found.category if found else None


def test_a_finding_names_class_category_entry_and_origin() -> None:
    permanent, transient = ErrorClassification.PERMANENT, ErrorClassification.TRANSIENT
    assert classify(SMALL, "", "tiss:1001") == Finding(permanent, "BAD", "TISS:1001", Origin.CODE)
    assert classify(SMALL, "TISS 1001") == Finding(permanent, "BAD", "TISS:1001", Origin.TEXT)
    assert classify(SMALL, "bad news") == Finding(permanent, "BAD", "BAD_NEWS", Origin.TEXT)
    assert classify(SMALL, "", "HTTP:503") == Finding(
        transient, "SLOW", "HTTP:503", Origin.CODE, ambiguous=True
    )
    assert classify(SMALL, "slowly") == Finding(transient, "SLOW", "SLOW", Origin.TEXT)
    assert classify(SMALL, "fine") is None


def test_a_catalog_tells_structured_codes_from_labels() -> None:
    catalog = small()
    assert [finding.origin for finding in catalog.codes.values()] == [Origin.CODE, Origin.CODE]
    assert [finding.origin for finding in catalog.labels.values()] == [Origin.TEXT, Origin.TEXT]
    assert catalog.codes["HTTP:503"].ambiguous
    assert not catalog.codes["TISS:1001"].ambiguous
    assert catalog.labels["HTTP:503"].ambiguous


def test_a_code_with_two_colons_belongs_to_its_first_scheme() -> None:
    found = classify(SMALL, "", "TISS:1:2")
    assert found is not None
    assert found.category == "UNKNOWN_REFUSAL"


def test_an_unknown_refusal_is_permanent_and_names_its_code() -> None:
    found = classify(SMALL, "SLOW", "TISS:4242")
    assert found == Finding(ErrorClassification.PERMANENT, "UNKNOWN_REFUSAL", "TISS:4242", Origin.CODE)
    assert classify(SMALL, "glosa 4242") == Finding(
        ErrorClassification.PERMANENT, "UNKNOWN_REFUSAL", "TISS:4242", Origin.TEXT
    )


@pytest.mark.parametrize("code", ["HTTP:418", "FAULT:Novo", "NET:ODD", "XYZ:1"])
def test_an_unknown_transport_code_is_left_to_the_text(code: str) -> None:
    assert category("nothing known", code) is None
    assert category("TIMEOUT", code) == "TIMEOUT"


def test_the_structured_code_comes_before_the_words_of_the_same_class() -> None:
    assert category("TIMEOUT", "HTTP:503") == "SERVICE_UNAVAILABLE"
    assert category("DUPLICATE_CLAIM", "TISS:1001") == "INVALID_PATIENT_DATA"


@pytest.mark.parametrize("code", [None, "HTTP:503", "TISS:3160", "NET:DNS"])
def test_permanent_wins_over_transient_wherever_it_stands(code: str | None) -> None:
    assert category("TIMEOUT then DUPLICATE_CLAIM", code) == "DUPLICATE_CLAIM"
    assert category("HTTP 503 after TISS 1001", code) == "INVALID_PATIENT_DATA"
    assert category("TISS 3160, TISS 1001", code) == "INVALID_PATIENT_DATA"


@pytest.mark.parametrize(
    "text",
    [
        "erro 1503",
        "5030",
        "E503",
        "503x",
        "_503",
        "R$ 1.503,00",
        "R$ 503,20",
        "503.5",
        "CLM-001-503",
        "503-1",
    ],
)
def test_503_inside_another_number_or_word_is_no_503(text: str) -> None:
    assert category(text) is None


@pytest.mark.parametrize("text", ["503", "erro 503.", "(503)", "503: x", "503, x", "=503", "503-Down"])
def test_503_as_a_whole_token_is_transient(text: str) -> None:
    assert category(text) == "SERVICE_UNAVAILABLE"


@pytest.mark.parametrize(
    "text",
    ["HTTP 401", "http/1.1 401 Unauthorised", "HTTP/2 401", "HTTP status 401", "HTTP status code: 401",
     "status=401", "Status Code 401", "HTTP_ERROR 401", "HTTP-401", "HTTP error #401", "http erro 401",
     "HTTP_401", "HTTP_STATUS_401", "HTTP STATUS 403", "HTTPS 403", "Error 403", "ERROR_401", "erro 401",
     "Error code: 401", "código de erro 403", "codigoErro=401", "Código HTTP 401", "código de status: 403",
     "statusCode: 401", '{"status": 403}', "<status>401</status>", "HTTP response code: 401", "response 403",
     "resposta 401", "Erro HTTP (401)", "HTTP_401_X", "SERVER_ERROR: HTTP_403", "TIMEOUT, then HTTP_401"],
)  # fmt: skip
def test_labelled_http_codes_are_read_from_the_text(text: str) -> None:
    assert category(text) == "ACCESS_DENIED"


@pytest.mark.parametrize(
    "text",
    ["code 401", "XHTTP 401", "HTTP 4012", "HTTP 401.5", "HTTP 401-1", "HTTP 40", "HTTP 901", "guia 401",
     "erro na guia 401", "401 guias", "the batch has 403 guides", "status da guia 403", "_401", "R$ 401,00",
     "ERROR_4012", "CLM-001-401", "erro de 12/03/401"],
)  # fmt: skip
def test_other_numbers_are_no_http_codes(text: str) -> None:
    assert category(text) is None


@pytest.mark.parametrize(
    "text",
    ["TISS 1001", "TISS:1001", "tiss-1001", "codigoGlosa 1001", "<ans:codigoGlosa>1001</ans:codigoGlosa>",
     "Código da glosa: 1001", "codigo glosa 1001", "glosa 1001", 'codigoGlosa="1001"', "codigo_glosa=1001"],
)  # fmt: skip
def test_labelled_tiss_codes_are_read_from_the_text(text: str) -> None:
    assert category(text) == "INVALID_PATIENT_DATA"


@pytest.mark.parametrize(
    "text", ["1001", "guia 1001", "TISS 10011", "TISS 4.01.00", "TISS 2025-01-12", "TISS 101", "ATISS 1001"]
)
def test_other_numbers_are_no_tiss_codes(text: str) -> None:
    assert category(text) is None


def test_the_official_timeout_text_is_transient() -> None:
    assert category("3160 TIME OUT - TENTE NOVAMENTE") == "TIMEOUT"


@pytest.mark.parametrize(
    ("text", "name"),
    [("Read timed out", "TIMEOUT"), ("connection-refused", "CONNECTION_ERROR"),
     ("Too many\nrequests", "RATE_LIMIT"),
     ("java.net.SocketTimeoutException", "TIMEOUT"), ("service  unavailable", "SERVICE_UNAVAILABLE"),
     ("Login inválido", "ACCESS_DENIED"), ("fault LoginInvalido", "ACCESS_DENIED")],
)  # fmt: skip
def test_case_accents_and_separators_do_not_matter(text: str, name: str) -> None:
    assert category(text) == name


@pytest.mark.parametrize("text", ["401", "403", " 401 ", "401.", "(403)", "#401", "[401]"])
def test_401_and_403_as_the_whole_text_are_refused_credentials(text: str) -> None:
    assert category(text) == "ACCESS_DENIED"


@pytest.mark.parametrize(
    "text",
    ["INVALID LOGIN", "invalid_credentials", "Invalid credentials for user x", "Bad credentials",
     "login inválido", "Login invalido", "LOGIN-INVÁLIDO", "senha expirada", "senha inválida",
     "Usuário ou senha inválidos", "usuário/senha incorretos", "A senha está incorreta",
     "senha bloqueada", "credenciais inválidas", "CREDENCIAIS INVALIDAS", "credencial expirada",
     "falha de autenticação", "Falha na autenticacao", "erro de autenticação", "Authentication failed",
     "authentication failure", "invalid username or password", "Incorrect username", "wrong password",
     "password expired", "The password has expired", "Password is incorrect", "login failed",
     "Login incorrect", "Logon failure", "login expirado", "usuário bloqueado", "Account locked",
     "acesso negado", "Access denied", "token inválido", "invalid token", "Expired token", "Unauthorised"],
)  # fmt: skip
def test_a_login_refused_in_words_is_never_retried(text: str) -> None:
    for said in (text, text.upper(), f"TIMEOUT; {text}", text.replace(" ", "_")):
        assert given_up(said).finding.category == "ACCESS_DENIED", said


@pytest.mark.parametrize(
    ("text", "name"),
    [("HTTP_503", "SERVICE_UNAVAILABLE"), ("ERROR_503", "SERVICE_UNAVAILABLE"),
     ("HTTP_STATUS_504", "TIMEOUT"), ("erro_504", "TIMEOUT"), ("HTTP_500", "SERVER_ERROR"),
     ("Error 429", "RATE_LIMIT")],
)  # fmt: skip
def test_labelled_statuses_that_pass_are_transient(text: str, name: str) -> None:
    assert retried(text).classification is ErrorClassification.TRANSIENT
    assert category(text) == name


PROSE = {
    "INVALID_PATIENT_DATA": (
        "Dados de paciente inválidos", "dados do paciente inválidos", "dados inválidos", "CPF inválido",
        "invalid patient data", "invalid data", "beneficiário não encontrado", "patient not found",
    ),
    "INSURANCE_EXPIRED": (
        "convênio vencido", "plano expirado", "cobertura vencida", "carteirinha vencida", "insurance expired",
        "coverage expired",
    ),
    "AUTHORIZATION_DENIED": (
        "Autorização expirada", "Autorização negada", "autorização vencida", "autorização inválida",
        "sem autorização", "procedimento não autorizado", "authorization expired", "authorisation denied",
        "expired authorization", "procedure not authorized",
    ),
    "PAYER_NOT_FOUND": (
        "operadora não encontrada", "Operadora inexistente", "convênio não encontrado", "payer not found",
        "unknown insurer",
    ),
    "INVALID_PROCEDURE_CODE": (
        "Código de procedimento inexistente", "procedimento inválido", "código de procedimento inválido",
        "procedimento não encontrado", "invalid procedure", "procedure code not found",
    ),
    "NOT_COVERED": (
        "procedimento não coberto", "cobertura negada", "sem cobertura", "procedure not covered",
        "coverage denied",
    ),
    "DUPLICATE_CLAIM": (
        "Conta duplicada", "duplicidade", "cobrança em duplicidade", "guia duplicada", "conta já apresentada",
        "duplicate claim", "claim already submitted",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in PROSE.items() for text in texts])
def test_permanent_kinds_that_the_rules_name_in_prose_are_entries(name: str, text: str) -> None:
    for said in (text, text.upper(), plain(text).lower(), plain(text).replace(" ", "_"), f"TIMEOUT. {text}"):
        assert given_up(said).finding.category == name, said


@pytest.mark.parametrize(
    "text",
    ["Timeout de rede", "Indisponibilidade temporária do sistema TISS", "Erro de conexão",
     "Sobrecarga momentânea", "rate limit", "Serviço indisponível", "Falha temporária", "falha de rede"],
)  # fmt: skip
def test_transient_kinds_that_the_rules_name_in_prose_are_entries(text: str) -> None:
    for said in (text, text.upper(), plain(text).replace(" ", "_")):
        assert retried(said).classification is ErrorClassification.TRANSIENT, said


@pytest.mark.parametrize("code", ["FAULT:LoginInvalido", "HTTP:401", "HTTP:403"])
def test_a_refused_login_is_never_retried(code: str) -> None:
    assert given_up("TIMEOUT", submissionErrorCode=code).finding.category == "ACCESS_DENIED"


@pytest.mark.parametrize(
    "code", ["TISS:3160", "HTTP:502", "HTTP:503", "HTTP:504", "NET:READ_TIMEOUT", "NET:RESET"]
)
def test_a_lost_answer_is_marked_ambiguous(code: str) -> None:
    assert retried("x", submissionErrorCode=code).finding.ambiguous


@pytest.mark.parametrize("code", ["TISS:1412", "NET:DNS", "NET:REFUSED", "HTTP:429"])
def test_a_claim_that_never_arrived_is_not_ambiguous(code: str) -> None:
    assert not retried("x", submissionErrorCode=code).finding.ambiguous


def test_folding_makes_separators_one_and_drops_accents() -> None:
    assert plain("Açaí ß") == "ACAI SS"
    assert plain("plain") == "PLAIN"
    assert fold("A -_ B\t\nC") == "A_B_C"


def test_amending_moves_an_entry_to_the_other_class() -> None:
    amended = amend(SMALL, transient=["TISS:1001", "bad news"], permanent=["SLOW"])
    assert classify(amended, "BAD_NEWS", "TISS:1001") == Finding(
        ErrorClassification.TRANSIENT, "ALSO_TRANSIENT", "TISS:1001", Origin.CODE
    )
    assert classify(amended, "slow") == Finding(
        ErrorClassification.PERMANENT, "ALSO_PERMANENT", "SLOW", Origin.TEXT
    )
    assert classify(amended, "503") == classify(SMALL, "503")
    assert amended.refusals == SMALL.refusals
    assert [(c.name, c.words, c.codes) for c in amended.categories] == [
        ("BAD", (), ()),
        ("SLOW", ("503",), ("HTTP:503",)),
        ("ALSO_PERMANENT", ("SLOW",), ()),
        ("ALSO_TRANSIENT", ("bad news",), ("TISS:1001",)),
    ]


def test_amending_with_nothing_changes_nothing() -> None:
    assert amend(SMALL) is SMALL
    assert [c.name for c in amend(SMALL, permanent=["X_Y_Z"]).categories] == ["BAD", "SLOW", "ALSO_PERMANENT"]
    assert [c.name for c in amend(SMALL, transient=["X_Y_Z"]).categories] == ["BAD", "SLOW", "ALSO_TRANSIENT"]
