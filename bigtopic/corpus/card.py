"""The summary of a corpus, in a terminal and in a notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.corpus.documents import DocumentsInParts
from bigtopic.corpus.text.stopwords import list_name
from bigtopic.corpus.vocabulary import in_documents
from bigtopic.support import cards
from bigtopic.wording import printable

__all__ = ["byte_size", "html_card", "left_out", "length_histogram", "text_card"]

_SHOWN = 5
_ONE = {
    "documents": "document",
    "words": "word",
    "authors": "author",
    "tokens": "token",
    "entries": "entry",
}
_SAMPLE = 20_000  # documents the histogram looks at; more would not change the picture


def byte_size(n_bytes: float) -> str:
    """1536 -> '1.5 KiB'."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TiB"


def _figures(corpus: DocumentsInParts) -> list[tuple[str, str]]:
    figures = [
        ("documents", f"{corpus.n_docs:,}"),
        ("words", f"{corpus.n_words:,}"),
        ("tokens", f"{corpus.n_tokens:,.0f}"),
        ("entries", f"{corpus.nnz:,}"),
        ("parts", f"{len(corpus.parts):,}"),
        ("size", byte_size(corpus.n_bytes)),
    ]
    if corpus.author_vocabulary is not None:
        figures.insert(2, ("authors", f"{corpus.n_authors:,}"))
    if corpus.columns:
        figures.append(("columns", ", ".join(corpus.columns)))
    if corpus.has_text:
        figures.append(("text", "kept"))
    if found := left_out(corpus.text_settings):
        figures.append(("left out", found))
    return figures


def left_out(text: Mapping[str, Any] | None) -> str:
    """The words that these settings of text left out, such as "english stop words, words in more than 50% of the
    documents (said, new)", or "dropped words (said, new)" if some were named; empty if none.
    """
    text = text or {}
    most, stop_words, common = text.get("max_df", 1.0), text.get("stop_words"), text.get("common_words", ())
    found = [f"{list_name(stop_words)} stop words"] if stop_words else []
    if common:
        named = isinstance(most, float) and most == 1.0
        which = "dropped words" if named else f"words in more than {in_documents(most)}"
        shown = ", ".join([*common[:_SHOWN], *["..."] * (len(common) > _SHOWN)])
        found.append(f"{which} ({shown})")
    return ", ".join(found)


def text_card(corpus: DocumentsInParts) -> str:
    """One line of figures."""
    where = corpus.url or "in memory"
    figures = ", ".join(
        f"{value} {_ONE[name] if value == '1' else name}" for name, value in _figures(corpus)[:4]
    )
    omitted = left_out(corpus.text_settings)
    return f"Corpus({printable(where)}: {figures}{f'; left out: {printable(omitted)}' if omitted else ''})"


def length_histogram(corpus: DocumentsInParts) -> tuple[np.ndarray, np.ndarray]:
    """Documents by number of tokens, (n_bins,), at most 24, and the bins' edges, whole numbers, (n_bins + 1,), of the
    first documents stored; the longest hundredth falls into the last bin."""
    seen = corpus.run(0, _SAMPLE, order="stored")
    lengths = [part.tokens(0, part.n_docs) for part in seen.parts]
    tokens = np.concatenate(lengths) if lengths else np.zeros(1)
    top = math.ceil(np.quantile(tokens, 0.99))
    step = top // 24 + 1
    return np.histogram(np.minimum(tokens, top), bins=np.arange(0, top + 1 + step, step))


def _histogram_svg(corpus: DocumentsInParts) -> str:
    counts, edges = length_histogram(corpus)
    width, height = 240 / len(counts), 60
    tallest = max(1, int(counts.max()))
    bars = "".join(
        f'<rect x="{i * width:.1f}" y="{height - height * n / tallest:.1f}" width="{width - 1:.1f}" '
        f'height="{height * n / tallest:.1f}" fill="currentColor" opacity="0.6">'
        f"<title>{_tokens(edges, i)}: {n:,} documents</title></rect>"
        for i, n in enumerate(counts.tolist())
    )
    sample = f", of the first {_SAMPLE:,}" if corpus.n_docs > _SAMPLE else ""
    return (
        f'<svg width="240" height="{height + 16}" role="img" aria-label="document lengths">{bars}'
        f'<text x="0" y="{height + 13}" font-size="11" fill="currentColor">0</text>'
        f'<text x="240" y="{height + 13}" font-size="11" text-anchor="end" fill="currentColor">'
        f"{edges[-1] - 1:,} tokens a document{sample}</text></svg>"
    )


def _tokens(edges: np.ndarray, bin: int) -> str:
    """The lengths that a bin of the histogram holds; the last one has the longest, too."""
    last = bin + 2 == len(edges)
    return f"{edges[bin]:,} tokens or more" if last else f"{edges[bin]:,} to {edges[bin + 1] - 1:,} tokens"


def html_card(corpus: DocumentsInParts) -> str:
    """A small table beside a histogram of document lengths; everything that came from data is escaped."""
    beside = "display:flex;gap:2em;align-items:center"
    table = cards.figures(dict(_figures(corpus)))
    return cards.card(
        f"Corpus {corpus.url or 'in memory'}", f"<div style='{beside}'>{table}{_histogram_svg(corpus)}</div>"
    )
