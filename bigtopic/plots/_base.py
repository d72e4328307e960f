"""Plots, as data, the folder of them, and how one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bigtopic.errors import SettingError, argument, either, noting, require
from bigtopic.evaluation import measures
from bigtopic.evaluation.base import (
    Fault,
    Measure,
    Setting,
    check_card,
    completed,
    for_words,
    renamed_settings,
    text_faults,
)
from bigtopic.evaluation.measuring import Evaluation, evaluation_of
from bigtopic.evaluation.subject import CorpusOrPath, Subject, documents_of
from bigtopic.state.contract.rules import check_arguments
from bigtopic.support import discovery

__all__ = ["CURVES", "Plot", "draw", "load", "names"]

_PACKAGE = "bigtopic.plots"
_NEEDS = {
    "corpus": "documents; give a corpus, or its path",
    "history": "the history of a model of this package",
    "curves": "curves, and the history of this model has no score, bound or change; learn with held-out documents "
    + either("(validation=) or evaluate.Watch", "('bigtopic train --held-out')")
    + ", or with a method that has a bound, such as 'vb' or 'author-vb'",
    "pairs": "row topics and column topics; give a DualTopicModel",
    "candidates": "candidates; give what bigtopic.sweep returns",
    "shares": "topics of documents; give a model of this package, and a corpus or a store of topics "
    + either("(theta=)", "(--theta)"),
    "texts": "a model of this package, and the texts of documents; give a corpus that keeps them "
    + either("(keep_text=True)", "(--keep-text)"),
    "authors": "authors; give "
    + either("an AuthorTopicModel", "a model of 'bigtopic train --method author-vb'"),
}

CURVES = {
    "score": "held-out score\nnats per token",
    "bound": "variational bound\nnats per token",
    "change": "change of a topic in a pass\ntotal variation distance",
}
"""What rows of a history may have to draw as a curve: {key: label of the axis}."""


@dataclass(frozen=True, eq=False)
class Plot:
    """A plot: one file in `plots/` defines one `PLOT`.

    Attributes
    ----------
    name : name of the file, with hyphens for underscores
    draw : (figure, `Subject`, results, settings) -> None. Draws on an empty matplotlib `Figure` or `SubFigure`. The
        settings are complete; check them here
    summary : one line, for the help of the command line
    needs : what the plot cannot do without: "corpus", "history", "curves" (one of `CURVES` in the history),
        "pairs" (topics of rows and columns), "candidates" (of a sweep), "shares" (a model that answers questions about
        documents, and a corpus or a store of topics), "texts" (such a model, and a corpus with texts), "authors"
    measures : names of measures of the corpus; `draw` gets their results, by name, or none if there is no corpus.
        They take those settings of the plot that they have
    settings : {name: `Setting`}; options of the command line

    Raises
    ------
    SettingError
        When an attribute is not what it must be.
    """

    name: str
    draw: Callable[[Any, Subject, Evaluation, Mapping[str, Any]], None]
    summary: str = ""
    needs: Sequence[str] = ()
    measures: Sequence[str] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)

    def __post_init__(self) -> None:
        where = f"plot {self.name!r}"
        check_card(where, self.settings, _faults(self))
        check_arguments(f"{where}: draw", self.draw, "figure", "subject", "results", "settings")
        try:
            measures.check_names(self.measures)
        except SettingError as error:
            raise SettingError(f"{where}: measures: {error}") from error

    def complete(self, given: Mapping[str, Any], subject: Subject) -> dict[str, Any]:
        """The plot's settings: those given, and defaults for the others; a default `n_top` is at most all words.

        Raises
        ------
        SettingError
            When the plot has no such setting, or a value is not allowed.
        """
        given = renamed_settings(self.settings, given)
        if foreign := sorted(given.keys() - self.settings.keys()):
            known = ", ".join(map(argument, sorted(self.settings))) or "none"
            raise SettingError(
                f"{argument(foreign[0])}: is not a setting of plot {self.name!r}; its settings are: {known}"
            )
        return completed(for_words(self.settings, subject, given), given)

    def missing(self, subject: Subject) -> list[str]:
        """Entries of `needs` that the subject lacks."""
        history = getattr(subject.model, "history_", None) or []
        answers = hasattr(type(subject.model), "topics_over")
        there = {
            "corpus": subject.documents is not None,
            "history": bool(history),
            "curves": any(row.get(key) is not None for row in history for key in (*CURVES, "measures")),
            "pairs": hasattr(type(subject.model), "joint_"),
            "candidates": hasattr(subject.model, "candidates"),
            "shares": answers and not (subject.documents is None and subject.theta is None),
            "texts": answers and subject.documents is not None and subject.documents.has_text,
            "authors": hasattr(type(subject.model), "authors_frame"),
        }
        return [need for need in self.needs if not there[need]]

    def check(self, subject: Subject) -> None:
        """Check that everything is there that the plot needs.

        Raises
        ------
        SettingError
            When something is missing; names it, and the plots that do without.
        """
        if missing := self.missing(subject):
            others = [name for name in names() if not load(name).missing(subject)]
            raise SettingError(
                f"plot {self.name!r} needs {_NEEDS[missing[0]]}. "
                f"Plots that need nothing else: {', '.join(others) or 'none'}"
            )


def _faults(plot: Plot) -> Iterator[Fault]:
    """Attributes that are of another kind than they must be."""
    yield from text_faults(plot, "name", "summary")
    if not callable(plot.draw):
        yield "draw", "a function", plot.draw
    if not _is_list(plot.needs, str) or not set(plot.needs) <= _NEEDS.keys():
        yield "needs", f"a list of {' or '.join(map(repr, _NEEDS))}", plot.needs
    if not _is_list(plot.measures, str | Measure):
        yield "measures", "a list of names of measures", plot.measures


def _is_list(value: Any, kind: Any) -> bool:
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return listed and all(isinstance(item, kind) for item in value)


def names() -> list[str]:
    """Names of the available plots, in alphabetical order; imports none."""
    return [module.replace("_", "-") for module in discovery.modules(_PACKAGE)]


def load(name: str | Plot) -> Plot:
    """The plot of this name; a `Plot` is returned as it is.

    Raises
    ------
    SettingError
        When there is no such plot, or its file does not define it.
    """
    if isinstance(name, Plot):
        return name
    return discovery.load(_PACKAGE, str(name), "PLOT", "plot", hyphens=True)


def draw(
    name: str | Plot,
    model: Any,
    corpus: CorpusOrPath | None = None,
    *,
    theta: Any = None,
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
    theta : store of the topics of documents, which `transform_to` wrote, for plots of these; None infers them from the
        corpus
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
    subject = Subject(model, None if corpus is None else documents_of(corpus), vocabulary, theta=theta)
    values = plot.complete(settings, subject)
    assert subject.source.n_components  # a model without topics is refused here
    plot.check(subject)
    require("matplotlib", "plots")
    from bigtopic.plots._picture import Picture

    if figure is None:
        figure = Picture()
    elif not hasattr(figure, "subplots"):
        raise SettingError(f"figure: must be a matplotlib Figure or SubFigure, found {type(figure).__name__}")
    asked = measures.chosen(plot.measures) if subject.documents is not None and plot.measures else []
    evaluation = evaluation_of(asked, subject, values, client, n_threads)
    with noting(f"plot {plot.name!r}"):
        plot.draw(figure, subject, evaluation, values)
    return figure
