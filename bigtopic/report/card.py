"""A summary as a card for notebooks, with every topic."""

from __future__ import annotations

from itertools import compress
from typing import Any

from bigtopic.support import cards

__all__ = ["summary_card"]


def summary_card(summary: Any) -> str:
    """Figures of a `Summary`, and a table of its topics; a column that would be empty is left out."""
    figures = {
        "documents": "" if summary.n_docs is None else f"{summary.n_docs:,}",
        "tokens": "" if summary.n_tokens is None else f"{summary.n_tokens:,.0f}",
        "words in the vocabulary": f"{summary.n_words:,}",
    }
    titles = summary.score_titles
    headings = ["topic", "label", "use", "share", *titles.values(), "words", "authors", "documents"]
    rows = [_cells(topic, titles) for topic in summary.topics]
    filled = [any(cell not in ("", []) for cell in column) for column in zip(*rows, strict=True)]
    table = cards.scrolling([*compress(headings, filled)], ([*compress(row, filled)] for row in rows))
    return cards.card("Summary", cards.figures({**figures, **summary.results.lines()}), table)


def _cells(topic: Any, titles: dict[str, str]) -> list[Any]:
    scores = [topic.scores.get(name) for name in titles]
    return [
        topic.number,
        topic.label,
        "unused" if topic.unused else "",
        "" if topic.share is None else f"{topic.share:.1%}",
        *("" if score is None else f"{score:.2f}" for score in scores),
        [word for word, _ in topic.words],
        [f"{name} {share:.0%}" for name, share in topic.authors],
        [name for name, _ in topic.documents],
    ]
