"""Plots, as data, and the folder of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bigtopic.errors import SettingError, argument, either
from bigtopic.evaluation import measures as measure_folder
from bigtopic.evaluation.base import (
    Fault,
    Measure,
    Setting,
    check_card,
    completed,
    for_words,
    renamed_settings,
)
from bigtopic.state.contract.rules import check_arguments
from bigtopic.support import discovery

if TYPE_CHECKING:
    from bigtopic.evaluation.measuring import Evaluation
    from bigtopic.evaluation.subject import Subject

__all__ = ["CURVES", "Plot", "load", "names"]

_PACKAGE = "bigtopic.plots"
_NEEDS = {
    "corpus": "documents; give a corpus, or its path",
    "history": "the history of a model of this package",
    "curves": "curves, and the history of this model has no score, bound or change; learn with held-out documents "
    + either("(validation=)", "('bigtopic train --held-out')")
    + ", or with a method that has a bound, such as 'vb' or 'author-vb'",
    "pairs": "row topics and column topics; give a DualTopicModel",
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
        "pairs" (topics of rows and columns)
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
            measure_folder.check_names(self.measures)
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
        """Those of `needs` that there are not."""
        history = getattr(subject.model, "history_", None) or []
        there = {
            "corpus": subject.documents is not None,
            "history": bool(history),
            "curves": any(row.get(key) is not None for row in history for key in CURVES),
            "pairs": hasattr(type(subject.model), "joint_"),
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
    for name in ("name", "summary"):
        value = getattr(plot, name)
        if not isinstance(value, str) or (name == "name" and not value):
            yield name, "text", value
    if not callable(plot.draw):
        yield "draw", "a function", plot.draw
    if not _is_list(plot.needs, str) or not set(plot.needs) <= _NEEDS.keys():
        yield "needs", f"a list of {' or '.join(map(repr, _NEEDS))}", plot.needs
    if not _is_list(plot.measures, str | Measure):
        yield "measures", "a list of names of measures", plot.measures


def _is_list(value: Any, kind: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(item, kind) for item in value)
    )


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
