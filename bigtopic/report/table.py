"""Topics as a table of text, as wide as the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bigtopic.report.summary import Summary, columns_of
from bigtopic.wording import printable

__all__ = ["text_table"]

_NARROWEST = 20
_LABEL = 24  # characters of a label
_AUTHORS_SHARE = 0.34  # of the width left over for words and authors


def text_table(summary: Summary, width: int = 100, emphasis: Callable[[str], str] = str) -> str:
    """One line per topic: number, label, whether it is unused, share, scores, words, leading authors.

    Columns without anything to show are left out.

    Parameters
    ----------
    width : characters
    emphasis : applied to the line of headings, for colours
    """
    topics, columns = list(summary.topics), []
    for title, values in columns_of(summary):
        cells, heading = [_cut(printable(str(value)), _LABEL) for value in values], printable(title)
        if title == "label":  # to the left
            size = max(map(len, [heading, *cells]))
            heading, cells = heading.ljust(size), [cell.ljust(size) for cell in cells]
        columns.append((heading, cells))
    widths = [max(map(len, [title, *cells])) for title, cells in columns]
    left = max(_NARROWEST, width - sum(widths) - 2 * len(widths))
    n_authors = int(left * _AUTHORS_SHARE) if summary.has_authors and left >= 2 * _NARROWEST else 0
    n_words = left - (n_authors + 2 if n_authors else 0)
    words = [_fitting((printable(word) for word, _ in topic.words), n_words, " ") for topic in topics]
    authors = [
        _fitting((f"{printable(name)} {share:.0%}" for name, share in topic.authors), n_authors, ", ")
        for topic in topics
    ]
    rows = zip(
        *([title, *cells] for title, cells in columns),
        ["words", *words],
        ["most in" if n_authors else "", *authors],
        strict=True,
    )
    lines = [
        "  ".join([*map(str.rjust, cells, widths), own.ljust(n_words), most]).rstrip()
        for *cells, own, most in rows
    ]
    return "\n".join([emphasis(lines[0]), *lines[1:]])


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _fitting(pieces: Iterable[str], width: int, separator: str) -> str:
    """As many whole pieces as fit; the first is cut if it must be."""
    line = ""
    for piece in pieces:
        longer = line + separator + piece if line else piece[:width]
        if len(longer) > width:
            break
        line = longer
    return line
