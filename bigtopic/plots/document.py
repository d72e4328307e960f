"""A document coloured by topic: behind each word, the topic that most of its tokens have in the document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.base import Setting
from bigtopic.plots._base import Plot
from bigtopic.plots._lines import Word, lines_of
from bigtopic.plots._plane import colours_of, legend
from bigtopic.plots._style import AS_IT_IS, heading, label, percent, resize
from bigtopic.plots._text_width import points_across, width_in

__all__ = ["PLOT"]

_MOST = 8000  # characters
_MOST_LINES = 300
_SIZE, _LINE, _INDENT = "small", 15.5, 8.0  # of the font; points: height of a line, space on both sides
_WIDER = 1.02  # than by the font, in the mean; with the most, there would be gaps between words
_ABOVE_AND_BELOW = 76.0  # points for the title and the legend


def draw(figure: Any, subject: Any, results: Any, settings: Mapping[str, Any]) -> None:
    if not settings["document"]:
        raise SettingError(f"{argument('document', ...)}: give the id of a document")
    found = subject.model.document(settings["document"], subject.documents, theta=subject.theta)
    if found.pieces is None:
        raise SettingError(
            f"{argument('document', settings['document'])}: its words cannot be found in its text, which was not kept, "
            "or tokenised by a function or a pattern that is not stored"
        )
    if not any(piece.text.strip() for piece in found.pieces):
        raise SettingError(
            f"{argument('document', settings['document'])}: its text is empty; choose another document"
        )
    n_characters = sum(len(piece.text) for piece in found.pieces)
    resize(figure, 7, 7)
    lines = lines_of(_beginning(found.pieces), points_across(figure) - 2 * _INDENT, width_in(_SIZE, _WIDER))
    shown = list(islice(lines, _MOST_LINES + 1))
    resize(figure, 7, (_LINE * min(len(shown), _MOST_LINES) + _ABOVE_AND_BELOW) / 72)
    room = int((72 * figure.bbox.height / figure.dpi - _ABOVE_AND_BELOW) / _LINE + 0.5)
    drawn = shown[: max(1, min(room, _MOST_LINES))]
    colours, entries = _colours(drawn, found.topics, subject.source.n_components)
    axes = figure.subplots()
    axes.set_axis_off()
    for row, line in enumerate(drawn):
        for word in line:
            _write(axes, word, row, colours)
    legend(axes, entries)
    is_cut = n_characters > _MOST or len(shown) > len(drawn)
    cut = f", the beginning of {n_characters:,} characters" if is_cut else ""
    heading(figure, f"{label(found.document.id, 80)}{cut}: words in the colours of their topics")


def _beginning(pieces: Sequence[Any]) -> Iterator[tuple[str, int | None]]:
    """The pieces of the first characters."""
    left = _MOST
    for text, topic in pieces:
        if left > 0:
            yield text[:left], topic
        left -= len(text)


def _colours(
    lines: Sequence[Sequence[Word]], topics: Any, n: int
) -> tuple[Sequence[str], list[tuple[str, str]]]:
    """Colours of the topics, and the entries of the legend, with the topics' shares of the document."""
    labels = [""] * n
    for k, name, share in zip(topics["topic"], topics["label"], topics["share"], strict=True):
        labels[k] = f"{label(name, 22)} {percent(round(share, 2))}"
    found = [word.topic for line in lines for word in line if word.topic is not None]
    return colours_of(np.array(found, np.int64), labels)


def _write(axes: Any, word: Word, row: int, colours: Sequence[str]) -> None:
    """Write a word at its place, in points from the upper left corner."""
    box = None
    if word.topic is not None:
        box = {"facecolor": colours[word.topic], "alpha": 0.5, "edgecolor": "none", "pad": 1.2}
    axes.annotate(
        word.text,
        (0, 1),
        (_INDENT + word.x, -_LINE * (row + 1)),
        xycoords="axes fraction",
        textcoords="offset points",
        va="baseline",
        fontsize=_SIZE,
        bbox=box,
        in_layout=False,
        **AS_IT_IS,
    )


PLOT = Plot(
    "document",
    draw,
    summary="the text of a document, its words coloured by topic",
    needs=["texts"],
    settings={"document": Setting("", "Id of the document.")},
)
