"""What leaves us about an error: entries of the catalog and codes of known schemes, never the text itself.

Nothing is cut out of a foreign text, for what is left could still name a person. What is said instead is
classified as the text was: what was recorded can be proven, and what a model feeds back is decided alike.
"""

from domain.catalog import Catalog, Finding, Origin
from domain.classification import NOT_UNDERSTOOD, UNKNOWN_ERROR, classify, long_form


def render(catalog: Catalog, finding: Finding) -> str:
    """The finding as a text: the entry that was matched, with its category where that says more."""
    if finding.origin is Origin.NOWHERE:
        return UNKNOWN_ERROR if classify(catalog, UNKNOWN_ERROR) is None else NOT_UNDERSTOOD
    short = finding.matched or ""
    return short if short == finding.category and _says(catalog, short, finding) else long_form(finding)


def _says(catalog: Catalog, text: str, finding: Finding) -> bool:
    found = classify(catalog, text)
    return found is not None and (found.category, found.matched) == (finding.category, finding.matched)
