"""Pieces of HTML that notebooks show. Text is made safe here; long tables scroll, up to `MOST_ROWS`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from bigtopic.wording import printable

__all__ = ["MOST_ROWS", "card", "figures", "framed", "lines", "link", "scrolling", "shown"]

MOST_ROWS = 2000  # of a table in a notebook, which keeps all of them
_LEFT = "style='text-align:left'"


def shown(value: object) -> str:
    """A value as HTML. Text is escaped as on a terminal, too, and its direction of writing ends with it.

    The items of a list are shown one by one.
    """
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    return f"<bdi>{escape(printable(value))}</bdi>" if isinstance(value, str) else escape(str(value))


def card(title: str, *pieces: str) -> str:
    """A title over pieces of HTML."""
    return f"<div><strong>{shown(title)}</strong>{''.join(pieces)}</div>"


def figures(values: Mapping[str, str]) -> str:
    """A table of labels and values; empty values are left out."""
    rows = "".join(
        f"<tr><th {_LEFT}>{shown(label)}</th><td {_LEFT}>{shown(value)}</td></tr>"
        for label, value in values.items()
        if value
    )
    return f"<table>{rows}</table>"


def scrolling(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in a box that scrolls; of more than `MOST_ROWS` rows, the first, and how many there are."""
    rows = list(rows)
    more = len(rows) - MOST_ROWS
    below = f"<p>and {more:,} more rows</p>" if more > 0 else ""
    rows = rows[:MOST_ROWS]
    head = "".join(f"<th {_LEFT}>{shown(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td {_LEFT}>{shown(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div style='max-height:30em;overflow:auto'><table><tr>{head}</tr>{body}</table>{below}</div>"


def lines(text: str) -> str:
    """A text in the lines that it has."""
    return f"<pre>{'<br>'.join(map(shown, text.splitlines()))}</pre>"


def link(text: str, address: str) -> str:
    """A link that leaves the notebook open; the address alone where it is not one of the web."""
    if not address.startswith(("http://", "https://")):
        return shown(address)
    return f'<a href="{escape(address)}" target="_blank" rel="noopener noreferrer">{shown(text)}</a>'


def framed(page: str) -> str:
    """A whole page inside another one, apart from it: neither can reach the other."""
    style = "width:100%;height:42em;border:1px solid #8884"
    return f'<iframe sandbox="allow-scripts" srcdoc="{escape(page)}" style="{style}"></iframe>'
