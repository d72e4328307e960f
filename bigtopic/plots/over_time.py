"""Topics over time: the mean share in each period, and a band of two standard errors. Lines end at missing periods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.evaluation.base import Setting
from bigtopic.plots._base import Plot
from bigtopic.plots._shares import DATES, shares_by
from bigtopic.plots._style import ACCENT, AS_IT_IS, bare, heading, label, largest, percent, resize, shown_of
from bigtopic.plots._text_width import fitter, points_across
from bigtopic.questions.dates import FREQUENCIES

__all__ = ["PLOT"]

_COLUMNS = 3
_MARGIN = 42  # points of a column that are not its panel's: numbers of the axis, space between panels
_LABELS = 4  # on an axis, at most
_YEARS = dict(zip(FREQUENCIES, (10, 1, 1 / 4, 1 / 12, 7 / 365, 1 / 365), strict=True))  # of a period


def draw(figure: Any, subject: Any, results: Any, settings: Mapping[str, Any]) -> None:
    found = shares_by(subject, settings, freq=settings["freq"])
    years, labels = found.years, subject.model.topic_labels_
    assert years is not None
    runs = np.split(
        np.arange(len(years)), np.flatnonzero(np.diff(years) > 1.5 * _YEARS[settings["freq"]]) + 1
    )
    topics = largest(found.n_documents @ found.share, settings["n_topics"])
    n_rows = -(-len(topics) // _COLUMNS)
    n_columns = -(-len(topics) // n_rows)
    resize(figure, max(4.5, 3.1 * n_columns), 1 + 1.6 * n_rows)
    fitted = fitter(points_across(figure) / n_columns - _MARGIN, "small")
    panels = figure.subplots(n_rows, n_columns, sharex=True, squeeze=False).ravel()
    for axes, k in zip(panels, topics, strict=False):
        for run in runs:
            _draw_run(axes, years[run], found.share[run, k], 2 * np.nan_to_num(found.standard_error[run, k]))
        axes.set_title(fitted(f"{k}  {label(labels[k], 60)}"), loc="left", fontsize="small", **AS_IT_IS)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(percent)
        axes.tick_params(labelsize="small")
        axes.grid(alpha=0.25)
        bare(axes)
    apart = _apart(years)
    panels[0].set_xticks(years[apart], [label(str(found.groups[i]), 12) for i in apart], **AS_IT_IS)
    for axes in panels[len(topics) :]:
        axes.remove()
    for axes in panels[max(0, len(topics) - n_columns) : len(topics)]:  # the lowest of each column
        axes.xaxis.set_tick_params(labelbottom=True)
    shown = shown_of(len(topics), len(labels), "topic")
    heading(figure, f"Mean share of documents by {settings['freq']}, ± 2 standard errors: {shown}")


def _draw_run(axes: Any, years: np.ndarray, share: np.ndarray, band: np.ndarray) -> None:
    """Periods that follow one another."""
    axes.plot(years, share, "o-", color=ACCENT, linewidth=1.4, markersize=2.5 if len(years) < 40 else 0)
    low, high = np.maximum(share - band, 0), share + band
    if len(years) > 1:
        axes.fill_between(years, low, high, color=ACCENT, alpha=0.2, linewidth=0)
    else:
        axes.vlines(years, low, high, color=ACCENT, alpha=0.4)


def _apart(years: np.ndarray) -> list[int]:
    """Periods whose names have room beside each other."""
    found = [0]
    for i in range(1, len(years)):
        if (years[i] - years[found[-1]]) * (_LABELS - 1) >= years[-1] - years[0]:
            found.append(i)
    return found


PLOT = Plot(
    "over-time",
    draw,
    summary="share of each topic over time, with error bands",
    needs=["shares"],
    settings={
        **DATES,
        "freq": Setting("year", "Length of the periods.", FREQUENCIES),
        "n_topics": Setting(9, "Number of topics to show, largest first."),
    },
)
