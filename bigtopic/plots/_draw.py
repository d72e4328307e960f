"""Draw a plot: measure what it shows, then draw it."""

from __future__ import annotations

from typing import Any

from bigtopic.errors import SettingError, noting, require
from bigtopic.evaluation import measures
from bigtopic.evaluation.measuring import Evaluation, results_of
from bigtopic.evaluation.streaming import CorpusOrPath, documents_of
from bigtopic.evaluation.subject import Subject
from bigtopic.plots._base import Plot, load

__all__ = ["draw"]


def draw(
    name: str | Plot,
    model: Any,
    corpus: CorpusOrPath | None = None,
    *,
    figure: Any = None,
    vocabulary: Any = None,
    client: Any = None,
    n_threads: int | None = None,
    **settings: Any,
) -> Any:
    """Draw a plot of a model.

    Parameters
    ----------
    name : of a plot (`bigtopic.plots.names()`), or a `Plot`
    model : see `bigtopic.evaluation.topics_of`, to which `vocabulary` is passed
    corpus : documents, or the path of their corpus, for shares of topics, in one pass; some plots do without
    figure : an empty matplotlib `Figure` or `SubFigure` to draw on, as it is; None for a new one that fits the plot
    client, n_threads : see `bigtopic.evaluation.log_predictive`
    settings : of the plot

    Returns
    -------
    matplotlib.figure.Figure
        Or the `SubFigure` given. Notebooks show it; `savefig` writes it to a file.

    Raises
    ------
    SettingError
        When there is no such plot, it needs something that is not given, or a setting is not allowed.
    MissingExtra
        When matplotlib is not installed.
    """
    plot = load(name)
    subject = Subject(model, None if corpus is None else documents_of(corpus), vocabulary)
    values = plot.complete(settings, subject)
    assert subject.source.n_components  # a model without topics is refused here
    plot.check(subject)
    require("matplotlib", "plots")
    from bigtopic.plots._picture import Picture

    if figure is None:
        figure = Picture()
    elif not hasattr(figure, "subplots"):
        raise SettingError(f"figure: must be a matplotlib Figure or SubFigure, found {type(figure).__name__}")
    results = _results(plot, subject, values, client, n_threads)
    with noting(f"plot {plot.name!r}"):
        plot.draw(figure, subject, results, values)
    return figure


def _results(plot: Plot, subject: Subject, settings: Any, client: Any, n_threads: int | None) -> Evaluation:
    if subject.documents is None or not plot.measures:
        return Evaluation()
    asked = measures.chosen(plot.measures)
    found = results_of(asked, subject, settings, client, n_threads)
    return Evaluation(list(zip(asked, found, strict=True)))
