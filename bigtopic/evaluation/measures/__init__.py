"""Measures: one per file of this folder.

A file whose name does not begin with an underscore defines `MEASURE`, a `bigtopic.evaluation.base.Measure`, whose name
is the file's with hyphens. To add a measure, add a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.base import Measure
from bigtopic.support import discovery

__all__ = ["check_names", "chosen", "defaults", "load", "names"]


def names() -> list[str]:
    """Names of the available measures, in alphabetical order; imports none."""
    return [module.replace("_", "-") for module in discovery.modules(__name__)]


def load(name: str | Measure) -> Measure:
    """The measure of this name; a `Measure` is returned as it is.

    Raises
    ------
    SettingError
        When there is no such measure, its file does not define it, or `name` is neither.
    """
    if isinstance(name, Measure):
        return name
    if not isinstance(name, str):
        raise SettingError(
            f"{argument('measures')}: must be names or Measure objects, found {name!r:.60}; names are: "
            f"{', '.join(names())}"
        )
    if name in _MEANT and name not in names():
        raise SettingError(f"there is no measure {name!r}; ask for {_MEANT[name]}")
    return discovery.load(__name__, name, "MEASURE", "measure", hyphens=True)


_MEANT = {
    "coherence": "'npmi', or another of 'pmi', 'lcp', 'umass', 'c-npmi', 'c-uci', 'c-v'",
    "perplexity": "'log-predictive', whose result has the perplexity, too",
}


def check_names(given: Iterable[str | Measure]) -> None:
    """Check that there are measures of these names; imports none.

    Raises
    ------
    SettingError
        When there is no such measure.
    """
    for name in given:
        if isinstance(name, str) and name.replace("-", "_") not in discovery.modules(__name__):
            raise SettingError(f"there is no measure {name!r}; there are: {', '.join(names())}")


def chosen(given: str | Measure | Iterable[str | Measure] | None) -> list[Measure]:
    """The measures of one name or of several, each once; None for the defaults.

    Raises
    ------
    SettingError
        When there is no such measure, two have the same name, or `given` is something else.
    """
    if given is None:
        return defaults()
    several = isinstance(given, Iterable) and not isinstance(given, str)
    asked: Any = given if several else [given]
    found: dict[str, Measure] = {}
    for measure in map(load, asked):
        if found.setdefault(measure.name, measure) is not measure:
            raise SettingError(
                f"{argument('measures')}: two of them are named {measure.name!r}; give one another name"
            )
    return list(found.values())


def defaults() -> list[Measure]:
    """The default measures; imports all."""
    return [measure for measure in map(load, names()) if measure.default]
