"""Measures: one per file of this folder.

A file whose name does not begin with an underscore defines `MEASURE`, a `bigtopic.evaluation.base.Measure`, whose name
is the file's with hyphens. To add a measure, add a file.
"""

from __future__ import annotations

from bigtopic import discovery
from bigtopic.evaluation.base import Measure

__all__ = ["defaults", "load", "names"]


def names() -> list[str]:
    """Names of the available measures, in alphabetical order; imports none."""
    return [module.replace("_", "-") for module in discovery.modules(__name__)]


def load(name: str | Measure) -> Measure:
    """The measure of this name; a `Measure` is returned as it is.

    Raises
    ------
    SettingError
        When there is no such measure.
    """
    if isinstance(name, Measure):
        return name
    return discovery.load(__name__, name.replace("-", "_"), "MEASURE", "measure")


def defaults() -> list[Measure]:
    """The default measures; imports all."""
    return [measure for measure in map(load, names()) if measure.default]
