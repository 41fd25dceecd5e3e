"""What is removed from error texts, and what stays readable."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from domain.check_digits import is_cpf
from domain.redaction import INPUT_MAX, TEXT_MAX, bound, redact, shorten

KEPT = [
    "TIMEOUT - Connection timeout after 30s",
    "INVALID_PATIENT_DATA - CPF inválido",
    "HTTP 503 Service Unavailable",
    "Retry-After: 120",
    "codigoGlosa 1001: NÚMERO DA CARTEIRA INVÁLIDO",
    "at 2025-01-12T10:40:00Z",
    "at 2025-01-12 10:40:00.123-03:00 and 2025-01-12T10:40+0200",
    "CLM-ENC-001-1234567890 failed",
    "lote 123456789012",
    "numeroLote: 123456789012",
    "<ans:numeroProtocolo>123456789012</ans:numeroProtocolo>",
    "&lt;numeroLote&gt;123456789&lt;/numeroLote&gt;",
    '"numeroGuiaPrestador": "12345678901234567890"',
    "Guia 12345678901234567890 refused",
    "1234567 is short",
    "mind the gap !@ here",
    "CLM-ENC-" + "1" * 90,
    "two numbers: 1234, 5678",
]

REMOVED = [
    ("CPF 529.982.247-25 inválido", "CPF [removed] inválido"),
    ("52998224725", "[number]"),
    ("x529 982 247 25y", "x[number]y"),
    ("529.982.247-26 has a typo", "[number] has a typo"),
    ("CNS 700 5006 0000 1234", "CNS [removed]"),
    ("898 0012 3456 7890", "[number]"),
    ("CNPJ 12.345.678/0001-95", "CNPJ [number]"),
    ("CNPJ 12.ABC.345/01DE-35", "CNPJ [number]"),
    ("card 4111-1111-1111-1111", "card [number]"),
    ("12345678", "[number]"),
    ("born 12/05/1980", "born [number]"),
    ("born 1980-05-12", "born [number]"),
    ("2025-01-12T10:40:00.1234567890123", "2025-01-12T10:40:00.[number]"),
    ("tel (11) 98765-4321", "tel [number]"),
    ("tel +55 11 98765-4321", "tel [number]"),
    ("١٢٣٤٥٦٧٨٩٠١", "[number]"),
    ("123\x00456\u200b789\n09", "[number]"),
    ("maria.silva+x@hosp.com.br", "[address]"),
    ("https://joana:pw@payer/ws", "https://[address]payer/ws"),
    ("nomeBeneficiario=Maria da Silva; HTTP 503", "nomeBeneficiario=[removed]; HTTP 503"),
    ("paciente: Maria da Silva, 503", "paciente: [removed], 503"),
    ("Beneficiário : João | TIMEOUT", "Beneficiário : [removed]| TIMEOUT"),
    ("nome=Maria\nTIMEOUT", "nome=[removed] TIMEOUT"),
    ("nome:\n\n\n\nMaria", "nome: [removed]"),
    ('{"nome": "Maria \\"X\\" Silva", "ok": 1}', '{"nome": [removed], "ok": 1}'),
    ("{'patientName': 'Maria, Silva'}", "{'patientName': [removed]}"),
    ("{'nome': 'Maria \\'X\\' Silva'}", "{'nome': [removed]}"),
    ("CLM-ENC-" + "1" * 91, "CLM-ENC-[number]"),
    ('<b nome="Maria">x', "<b nome=[removed]>x"),
    ("<ans:nomeBeneficiario>Maria, da Silva</ans:nomeBeneficiario> x",
     "<ans:nomeBeneficiario>[removed]</ans:nomeBeneficiario> x"),
    ('<nome xsi:type="string">Maria</nome>', '<nome xsi:type="string">[removed]</nome>'),
    ("<nome>Maria, cut off", "<nome>[removed]"),
    ("<nome><![CDATA[Maria]]></nome>", "<nome><![CDATA[[removed]</nome>"),
    ("&lt;nome&gt;Maria &amp; Jo&lt;/nome&gt; x", "&lt;nome&gt;[removed]&lt;/nome&gt; x"),
    ("<numeroCarteira>A12</numeroCarteira>", "<numeroCarteira>[removed]</numeroCarteira>"),
    ("dataNascimento=1980-05-12T00:00:00", "dataNascimento=[removed]"),
    ("dt_nascimento: 12/05/80", "dt_nascimento: [removed]"),
    ("carteira 1234567 inválida", "carteira [removed] inválida"),
    ("carteirinha nº AB12345 inválida", "carteirinha nº [removed] inválida"),
    ("RG 12.345", "RG [removed]"),
    ("matrícula: 99", "matrícula: [removed]"),
    ("senha=abc123; next", "senha=[removed]; next"),
    ("loginPrestador: hosp", "loginPrestador: [removed]"),
    ("observacao: paciente Maria, HIV", "observacao: [removed]"),
    ("<justificativaX>a, b; c</justificativaX>", "<justificativaX>[removed]</justificativaX>"),
    ("guia 529.982.247-25", "guia [number]"),
    ("lote 123456789 01", "lote [number]"),
    ("CID=F32.1", "CID=[removed]"),
]  # fmt: skip


@pytest.mark.parametrize("text", KEPT)
def test_what_names_nobody_stays_readable(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(("text", "safe"), REMOVED)
def test_personal_data_is_removed(text: str, safe: str) -> None:
    assert redact(text) == safe


FIELDS = [
    "numeroCarteira", "carteirinha", "cartao", "identificadorBeneficiario", "nomeBeneficiario",
    "beneficiaria", "nomeSocialBeneficiario", "numeroCNS", "cpfContratado", "contratado", "CPF", "rg",
    "matricula", "nomeProfissional", "profissional", "nome", "name", "patient", "patient_name",
    "patientName", "paciente", "titular", "segurado", "mae", "mãe", "pai", "nomeMae", "dataNascimento",
    "dt_nascimento", "data_de_nascimento", "nascimento", "birthDate", "date_of_birth", "dob", "email",
    "e-mail", "telefone", "celular", "phone", "endereco", "endereço", "cep", "CID", "cid10", "dtNasc",
    "diagnosticoCID", "senha", "senhaPrestador", "loginPrestador", "login", "usuario", "user", "username",
    "password", "passwd", "secret", "token", "api_key", "authorization", "observacao", "observação",
    "justificativaTecnica", "indicacaoClinica", "indicação_clínica", "descricaoGlosa",
]  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_every_known_field_is_emptied_however_it_is_written(field: str) -> None:
    for before, after in (
        (f"<{field}>", f"</{field}>"),
        (f"<ans:{field}>", f"</ans:{field}>"),
        (f'{{"{field}": ', "}"),
        (f"{field}=", "; x"),
        (f"{field.upper()} : ", "\nx"),
        (f"x_{field}=", "<x"),
    ):
        quote = '"' if before.startswith("{") else ""
        safe = redact(f"{before}{quote}Ana Lu{quote}{after}")
        assert "Ana" not in safe
        assert "Lu" not in safe
        assert safe.startswith(f"{before}[removed]")


@pytest.mark.parametrize("word", ["renome", "companhia", "hostname", "acid", "tokens", "Xpai", "mailbox"])
def test_other_words_are_no_fields(word: str) -> None:
    assert redact(f"{word}=Ana Lu") == f"{word}=Ana Lu"


def test_the_result_is_one_printable_line() -> None:
    assert redact("a\r\nb\tc\x00d\u202ee\ud800f") == "a b cdef"


def test_the_result_is_bounded() -> None:
    assert redact("x" * TEXT_MAX) == "x" * TEXT_MAX
    assert redact("x" * (TEXT_MAX + 1)) == "x" * (TEXT_MAX - 1) + "…"
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 6) == "abcde…"


def test_a_text_is_cut_between_words_and_never_inside_a_number() -> None:
    assert bound("one two", 7) == "one two"
    assert bound("one two three", 10) == "one two"
    assert bound("one 529.982. 247-25", 15) == "one"
    assert bound("x" * 20, 10) == "x" * 10
    assert bound("oneX two", 6) == "oneX"
    assert bound("1" * 20, 10) == "1" * 10
    assert bound("x" * 9 + "1234567890", 12) == "x" * 9
    assert len(bound("a " * INPUT_MAX)) <= INPUT_MAX


def _cpf(digits: str, form: int) -> str:
    parts = digits[:3], digits[3:6], digits[6:9], digits[9:]
    return ("".join(parts), "{}.{}.{}-{}".format(*parts), " ".join(parts), "{}-{}-{}/{}".format(*parts))[form]


WORDS = st.text(max_size=60).filter(lambda text: "clm-" not in text.lower())


LABEL = re.compile(r"lote|protocolo|guia|guide", re.IGNORECASE)


@settings(max_examples=400)
@given(
    WORDS.filter(lambda text: LABEL.search(text) is None),
    st.from_regex(r"[0-9]{11}", fullmatch=True),
    st.integers(0, 3),
    WORDS,
)
def test_no_eleven_digits_survive_in_any_company(before: str, digits: str, form: int, after: str) -> None:
    text = f"{before} {_cpf(digits, form)} {after}"
    assert _cpf(digits, form) not in redact(text)


CPFS = st.from_regex(r"[0-9]{9}", fullmatch=True).map(
    lambda nine: next(cpf for end in range(100) if is_cpf(cpf := f"{nine}{end:02d}") or len(set(cpf)) == 1)
)


@given(st.sampled_from(["lote", "Protocolo:", "numeroGuia =", "LOTE#"]), CPFS.filter(is_cpf), WORDS)
def test_a_cpf_by_its_check_digits_does_not_pass_for_a_batch_number(label: str, cpf: str, after: str) -> None:
    assert cpf not in redact(f"{label} {cpf} {after}")


def test_a_batch_number_is_kept_and_a_health_card_in_its_place_is_not() -> None:
    assert redact("lote 200000000001 refused") == "lote 200000000001 refused"
    assert redact("guia 700000000000005 refused") == "guia [number] refused"
    assert redact("guide 52998224725, guide 20260000001") == "guide [number], guide 20260000001"


NAMES = st.text(st.characters(categories=["Lu", "Ll"], include_characters=" "), min_size=12, max_size=30).map(
    str.strip
)


@settings(max_examples=300)
@given(WORDS, st.sampled_from(["nomeBeneficiario", "paciente", "nome", "titular", "nomeMae"]), NAMES, WORDS)
def test_no_name_in_a_known_field_survives(before: str, field: str, name: str, after: str) -> None:
    assume(len(name) >= 8 and name not in field)
    for text in (f"<{field}>{name}</{field}>", f'{{"{field}": "{name}"}}', f"{field}={name}; "):
        assert name not in redact(f"{before.replace(name, '')} {text}{after.replace(name, '')}")


@settings(max_examples=500)
@given(st.text(max_size=3_000))
def test_any_text_becomes_one_bounded_printable_line(text: str) -> None:
    safe = redact(text)
    assert safe.isprintable()
    assert len(safe) <= TEXT_MAX
    safe.encode()


PARTS = st.sampled_from((
    *FIELDS, ":", "=", "\n", "\r\n", " ", ",", ";", '"', "'", "<", ">", "Maria", "TIMEOUT", "[removed]", "…",
    "CLM-12345678901-5", "2025-01-12T10:40", "guia 52998224725", "12345", "678", "a@b.c", "x" * 90, "x" * 480,
)) | st.text(max_size=3)  # fmt: skip
ENDS = st.sampled_from(("", "login:\n", "senha:\r\n", "User:\n", "nome=", "CPF:\n,", "observacao:\n<"))


@pytest.mark.parametrize("text", ["TIMEOUT\nlogin:\n", "Falha ao ler senha:\r\n", "Timeout. User:\n"])
def test_a_field_without_a_value_at_the_end_is_left_as_it_is(text: str) -> None:
    assert redact(text) == " ".join(text.split()) + " "
    assert redact(redact(text)) == redact(text)


@settings(deadline=None, max_examples=500)
@given(st.lists(PARTS, max_size=25).map("".join), ENDS)
def test_what_is_redacted_once_stays_as_it_is(text: str, end: str) -> None:
    once = redact(text + end)
    assert redact(once) == once
