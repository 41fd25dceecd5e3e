"""Tables in mails: as aligned text, and as HTML; claims in them are linked where a console is set."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

from domain.legible import printable_line

TABLES = "tables"
"""Under which name a mail's data hold its tables, as JSON."""
GAP = "  "


@dataclass(frozen=True, slots=True)
class MailTable:
    """A title, the names of the columns, and rows; the first column of some holds ids of claims."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    has_claims: bool = False


def write_tables(tables: Sequence[MailTable]) -> str:
    """For a mail's data."""
    kept = [{"title": t.title, "head": t.head, "rows": t.rows, "claims": t.has_claims} for t in tables]
    return json.dumps(kept, ensure_ascii=False)


def read_tables(text: str | None) -> Sequence[MailTable]:
    """From a mail's data."""
    return [
        MailTable(one["title"], tuple(one["head"]), tuple(map(tuple, one["rows"])), bool(one["claims"]))
        for one in json.loads(text or "[]")
    ]


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables, and where claims are looked at."""

    tables: Sequence[MailTable] = ()
    console_url: str | None = None

    def plain(self) -> Iterator[str]:
        """Each as lines of text."""
        for table in self.tables:
            yield plain_table(table, self._links(table))

    def html(self) -> Iterator[str]:
        """Each as HTML."""
        for table in self.tables:
            yield _html_table(table, self._links(table))

    def _links(self, table: MailTable) -> Sequence[str]:
        if not (self.console_url and table.has_claims):
            return ()
        return [f"{self.console_url}/claims/{quote(row[0], safe='')}" for row in table.rows]


def plain_table(table: MailTable, links: Sequence[str] = ()) -> str:
    """A title and aligned columns; links stand at the end of their rows."""
    rows = [[printable_line(cell) for cell in row] for row in (table.head, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    ends = ["", *(f"{GAP}{link}" for link in links)] if links else [""] * len(lines)
    return "\n".join([table.title, *((line + end).rstrip() for line, end in zip(lines, ends, strict=True))])


def _html_table(table: MailTable, links: Sequence[str]) -> str:
    head = "".join(f'<th align="left">{escape(name)}</th>' for name in table.head)
    hrefs = links or [""] * len(table.rows)
    rows = "\n".join(_html_row(row, href) for row, href in zip(table.rows, hrefs, strict=True))
    grid = f'<table border="1" cellpadding="4" cellspacing="0">\n<tr>{head}</tr>\n{rows}\n</table>'
    return f"<p><strong>{escape(table.title)}</strong></p>\n{grid}"


def _html_row(row: Sequence[str], href: str) -> str:
    cells = [escape(printable_line(cell)) for cell in row]
    if href:
        cells[0] = f'<a href="{escape(href)}">{cells[0]}</a>'
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
