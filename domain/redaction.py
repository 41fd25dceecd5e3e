"""Takes personal data out of error texts; when in doubt it removes too much."""

import re

from domain.check_digits import is_personal
from domain.legible import legible

TEXT_MAX = 1_000
INPUT_MAX = 16_384
PIECE = 4_096
"""So much of a long text is folded at a time, until there is enough of it."""
PASSES = 10
"""A line end or a cut can make a field or a number of what was none; one more pass is the rule."""
NUMBER = "[number]"
ADDRESS = "[address]"
REMOVED = "[removed]"

_GAP = r"[\s.\-/()_\u2010-\u2015]{0,3}"
_PERSON = (
    r"nome\w{0,40}|name|patient_?name|patient|paciente|benefici[aá]ri[oa]|titular|segurad[oa]|m[aã]e|pai"
    r"|identificador_?benefici[aá]rio|profissional|contratado|usu[aá]rio|user(?:_?name)?|login(?:_?prestador)?"
    r"|(?:data|dt)_?(?:de_?)?nasc\w{0,20}|nascimento|birth_?date|date_?of_?birth|dob"
    r"|e-?mail|telefone|celular|phone|endere[cç]o|cep|(?:diagn[oó]stico_?)?cid(?:_?10)?"
    r"|senha\w{0,20}|password|passwd|secret|token|api_?key|authorization"
)
_PERSONAL_NUMBER = r"\w{0,20}cpf\w{0,20}|\w{0,20}cns|rg|\w{0,20}carteir\w{0,20}|cart[aã]o|matr[ií]cula"
_FREE_TEXT = r"observa[cç][aã]o|justificativa\w{0,30}|indica[cç][aã]o_?cl[ií]nica|descri[cç][aã]o_?glosa"
_KEPT = (
    r"\A(?:queue|send)-email(?=: )"  # our own job types, at the beginning of our own messages
    r"|CLM-[\w.\-]{1,80}-\d{1,90}(?!\d)"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+\-]\d\d:?\d\d)?(?!\d)"
    rf"|(?P<label>(?:lote|protocolo|guia|guide)[a-z]{{0,20}}[\"']?(?:[\s:=>#]|&gt;){{1,4}}[\"']?)"
    rf"(?P<labelled>\d{{1,20}})(?!{_GAP}\d)"
    r"|(?:<|&lt;)/[\w:.\-]{1,80}(?:>|&gt;)"
)
_FIELD = rf"(?<![^\W_])(?P<field>(?P<free>{_FREE_TEXT})|(?P<id>{_PERSONAL_NUMBER})|{_PERSON})"
_IN_TAG = r"(?P<tag>(?:\s[^<>]{0,200})?(?:>|&gt;)(?:<!\[CDATA\[)?)(?:[^<&]|&(?!lt;))+"
_AFTER_SIGN = (
    r"(?P<sign>[\"']?\s{0,3}[:=]\s{0,3}+)(?!\[removed\])"
    r"(?:\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?|(?(free)[^<\n]+|[^,;|<>\n\"']+))"
)
_AFTER_BLANK = r"(?(id)(?P<blank>[\s#.nº°]{1,6})(?=[^\W\d]{0,8}\d)[\w.\-/]+(?:\s\d[\d.\-/]*)*|(?!))"
_SCAN = re.compile(
    rf"(?P<kept>{_KEPT})"
    rf"|{_FIELD}(?:{_IN_TAG}|{_AFTER_SIGN}|{_AFTER_BLANK})"
    r"|(?<![\w.+\-])(?P<mail>[\w.+\-]+@[\w.\-]+)"
    r"|(?<=//)(?P<login>[^\s/@]{1,100}@)"
    rf"|\+?\(?\d(?:{_GAP}\d){{7,}}|[A-Z0-9]{{2}}\.[A-Z0-9]{{3}}\.[A-Z0-9]{{3}}/[A-Z0-9]{{4}}-\d\d",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_LONG_NUMBER = re.compile(rf"\d(?:{_GAP}\d){{7}}")
_SIGNS = ("@", ":", "=", ">", "&gt;")
_NUMBER_HINTS = ("cpf", "cns", "rg", "cart", "matr", "/")


def redact(text: str) -> str:
    """Give the text on one line, bounded, without numbers, addresses and known fields of persons.

    What comes out stays as it is when it is redacted again: what was recorded can be proven.
    """
    safe = _scanned(readable(text))
    for _ in range(PASSES):
        before, safe = safe, _scanned(safe)
        if safe == before:
            break
    return safe


def readable(text: str) -> str:
    """The text as people read it, bounded; no more is folded than is needed to fill the bound."""
    if len(text) <= INPUT_MAX:
        return legible(text)
    seen, blank = "", ""
    for start in range(0, len(text), PIECE):
        piece = legible(blank + text[start : start + PIECE])
        seen, blank = seen + piece.rstrip(), piece[len(piece.rstrip()) :]
        if len(seen) > INPUT_MAX:
            break
    return bound(seen + blank)


def bound(text: str, limit: int = INPUT_MAX) -> str:
    """Cut a text that is too long, but neither inside a word nor inside a number."""
    if len(text) <= limit:
        return text
    start = text[:limit]
    whole_words = start.rpartition(" ")[0] or start
    return whole_words.rstrip("0123456789 .-/()\t") or start


def shorten(text: str, limit: int = TEXT_MAX) -> str:
    """Cut an already redacted text for storage and display."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _scanned(text: str) -> str:
    safe = _SCAN.sub(_replacement, text) if _is_suspect(text) else text
    return shorten(safe.replace("\n", " "))


def _is_suspect(text: str) -> bool:
    if any(sign in text for sign in _SIGNS):
        return True
    if not _DIGIT.search(text):
        return False
    lowered = text.lower()
    return any(hint in lowered for hint in _NUMBER_HINTS) or _LONG_NUMBER.search(text) is not None


def _replacement(match: re.Match[str]) -> str:
    if match["kept"]:
        return f"{match['label']}{NUMBER}" if is_personal(match["labelled"] or "") else match[0]
    if match["field"]:
        return f"{match['field']}{match['tag'] or match['sign'] or match['blank']}{REMOVED}"
    if match["mail"] or match["login"]:
        return ADDRESS
    return NUMBER
