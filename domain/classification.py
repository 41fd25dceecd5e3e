"""Tells transient errors from permanent ones by the catalog: structure before words, permanent wins."""

import re
from collections.abc import Iterator

from domain.catalog import (
    Catalog,
    Entries,
    ErrorClassification,
    Finding,
    Origin,
    finding_of,
    fold_text,
    plain,
)

UNKNOWN_ERROR = "UNKNOWN_ERROR"
UNKNOWN_REFUSAL = "UNKNOWN_REFUSAL"
NOT_UNDERSTOOD = f"{UNKNOWN_ERROR} (NOT_IN_CATALOG)"
"""The long form of an error that no entry matches, for catalogs that have a word in the short one."""

_NO_NUMBER = "0000"
_SCHEMES = {"HTTP": re.compile(r"[1-5]\d\d", re.ASCII), "TISS": re.compile(r"\d{4}", re.ASCII)}
_REFUSAL = re.compile(r"\d{1,6}", re.ASCII)
_ENDS = r"(?![^\W_]|[.,\-/_]\d)"
_ERROR = r"ERR(?:OR?)?"
_NUMBER_SIGN = r"(?:IS|N[O\u00b0.]|NUMERO|NUMBER)"
_LABELS = ("HTTP", "STATUS", "ERR", "RESPO")
_LABELS_BEHIND = ("ERR", "AUTORIZADO", "AUTHORI")
_HTTP = re.compile(
    rf"(?<![A-Z0-9])(?:CODIGO|COD)?(?:HTTPS?(?:/\d(?:\.\d)?)?|STATUS|{_ERROR}|RESPONSE|RESPOSTA)"
    rf"(?:[\s_\-]{{0,3}}(?:HTTP|STATUS|CODE|CODIGO|COD|{_ERROR}|RESPONSE)){{0,3}}"
    rf"(?:[\s_]{_NUMBER_SIGN})?[\s:=#_<>\"'(\[\-]{{0,4}}([1-5][0-9]{{2}})" + _ENDS
)
_STATUS_FIRST = re.compile(
    r"(?:^|[:;(\[\"'>=]|(?<![A-Z0-9])(?:AN?|THE|UM|GOT|RETURNED))\s{0,2}([1-5][0-9]{2})[\s:_\-]{1,4}"
    rf"(?:{_ERROR}|NAO[\s_]AUTORIZADO|NOT[\s_]AUTHORI[SZ]ED)(?![^\W_])"
)
_ONLY_A_STATUS = re.compile(r"\W*([1-5][0-9]{2})\W*")
_TISS = re.compile(
    r"(?<![A-Z0-9])(?:TISS|(?:CODIGO)?GLOSA)(?:[\s_\-](?:CODIGO|CODE|COD\.?|ERRO))?[\s:=#_>\"'\-]{0,4}([0-9]{4})"
    + _ENDS
    + r"(?!\.(?:XML|XSD|ZIP))"
)
_SCHEME_AND_CODE = re.compile(r"(?<![A-Z0-9])[A-Z]{2,12}:[A-Z0-9_.\-]{1,64}")


def classify(catalog: Catalog, text: str, code: str | None = None) -> Finding | None:
    """Find the entry that decides: the first permanent one, else the first transient one, else None."""
    best: Finding | None = None
    for finding in _findings(catalog, text, code):
        if finding.permanent:
            return finding
        best = best or finding
    return best


def _findings(catalog: Catalog, text: str, code: str | None) -> Iterator[Finding]:
    if code and (found := _by_code(catalog, code.upper(), Origin.CODE)):
        yield found
    if text == NOT_UNDERSTOOD:
        return
    if found := read_form(catalog, text):
        yield found
        return
    yield from _in_text(catalog, text)


def _in_text(catalog: Catalog, text: str) -> Iterator[Finding]:
    plain_text = plain(text)
    for labelled in _labelled_codes(plain_text):
        if found := _by_code(catalog, labelled, Origin.TEXT):
            yield found
    yield from _written_codes(catalog, plain_text)
    folded = fold_text(text)
    for words in (catalog.permanent_words, catalog.transient_words):
        if found := _by_word(words, plain_text, folded):
            yield found


def long_form(finding: Finding) -> str:
    """An entry as one text that says nothing else: `NOT_COVERED (SEM_COBERTURA)`, `TIMEOUT (HTTP:504)`."""
    return f"{finding.category} ({finding.matched})"


def read_form(catalog: Catalog, text: str) -> Finding | None:
    """The entry whose long form the whole text is; such a text is read no further."""
    category, sign, entry = text.partition(" (")
    if not sign or not entry.endswith(")"):
        return None
    name = entry[:-1]
    for known in catalog.categories:
        if known.name == category and (name in known.words or name in known.codes):
            return finding_of(known, name, Origin.TEXT)
    is_code = category == UNKNOWN_REFUSAL and known_code(catalog, name) == name
    refused = _by_code(catalog, name, Origin.TEXT) if is_code else None
    return refused if refused and refused.category == UNKNOWN_REFUSAL else None


def known_code(catalog: Catalog, code: str | None) -> str | None:
    """The code, if the catalog has it or its scheme's form fits; one of a refusing scheme stays a refusal."""
    if not code:
        return None
    if entry := catalog.codes.get(code.upper()):
        return entry.matched
    scheme, _, number = code.upper().partition(":")
    form = _SCHEMES.get(scheme, _REFUSAL if scheme in catalog.refusals else None)
    if form and form.fullmatch(number):
        return f"{scheme}:{number}"
    return f"{scheme}:{_NO_NUMBER}" if scheme in catalog.refusals else None


def _by_code(catalog: Catalog, code: str, origin: Origin) -> Finding | None:
    known = catalog.codes if origin is Origin.CODE else catalog.labels
    if found := known.get(code):
        return found
    if code.partition(":")[0] in catalog.refusals:
        return Finding(ErrorClassification.PERMANENT, UNKNOWN_REFUSAL, code, origin)
    return None


def _labelled_codes(plain_text: str) -> Iterator[str]:
    if alone := _ONLY_A_STATUS.fullmatch(plain_text):
        yield f"HTTP:{alone[1]}"
    if any(label in plain_text for label in _LABELS):
        yield from (f"HTTP:{match[1]}" for match in _HTTP.finditer(plain_text))
    if any(label in plain_text for label in _LABELS_BEHIND):
        yield from (f"HTTP:{match[1]}" for match in _STATUS_FIRST.finditer(plain_text))
    if "TISS" in plain_text or "GLOSA" in plain_text:
        yield from (f"TISS:{match[1]}" for match in _TISS.finditer(plain_text))


def _written_codes(catalog: Catalog, plain_text: str) -> Iterator[Finding]:
    """Codes written as `NET:CERTIFICATE`; only known ones, for much that is none has a colon in it."""
    written = (match[0].rstrip(".-") for match in _SCHEME_AND_CODE.finditer(plain_text))
    yield from (catalog.labels[code] for code in written if code in catalog.labels)


def _by_word(words: Entries, plain_text: str, folded: str) -> Finding | None:
    for word, finding in words:
        if word in folded and (not word.isdecimal() or _is_whole_token(word, plain_text)):
            return finding
    return None


def _is_whole_token(number: str, plain_text: str) -> bool:
    return re.search(rf"(?<![\w.,\-]){number}(?!\w|[.,\-]\d)", plain_text) is not None
