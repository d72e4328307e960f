"""Candidates of a sweep: how far each score is below the highest one, with the standard error of this difference.

A candidate whose error bar reaches the line is within one standard error of the best; the chosen one has a ring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from bigtopic.plots._base import Plot
from bigtopic.plots._style import ACCENT, AS_IT_IS, bare, label, resize

__all__ = ["PLOT"]

_LINES = ("-", "--", ":", "-.")


def draw(figure: Any, subject: Any, results: Any, settings: Mapping[str, Any]) -> None:
    found = subject.model
    across = _across(found.candidates)
    lines: dict[str, list[int]] = {}
    for i, own in enumerate(found.candidates):
        lines.setdefault(_named(own, across), []).append(i)
    resize(figure, 7, 4)
    axes = figure.subplots()
    values, errors = np.array(found.differences).T
    if across is None:
        places = _draw_names(axes, list(lines), [_named(own, None) for own in found.candidates])
        lines = {"": list(range(len(places)))}
    else:
        places = [own[across] for own in found.candidates]
    for number, (name, members) in enumerate(lines.items()):
        points = [(places[i], values[i], errors[i]) for i in members]
        _draw_line(axes, "none" if across is None else _LINES[number % len(_LINES)], number, name, points)
    chosen = found.best_index_
    axes.plot(
        places[chosen], values[chosen], "o", markersize=13, fillstyle="none", color="#D55E00", label="chosen"
    )
    axes.axhline(0, color="0.6", linewidth=0.8)
    measure = next(iter(found.measures.values()))
    axes.set_ylabel(f"{measure.title}, below the highest\n{measure.unit}".rstrip(), **AS_IT_IS)
    axes.set_xlabel(across or "candidate", **AS_IT_IS)
    axes.grid(alpha=0.25)
    for text in axes.legend(frameon=False, fontsize="small").get_texts():
        text.set_parse_math(False)
    bare(axes)


def _across(candidates: Any) -> str | None:
    """The setting of the horizontal axis: the number of topics, or else the first one of numbers."""
    names = [
        name
        for name in candidates[0]
        if name != "random_state"
        and all(isinstance(own[name], Real) and not isinstance(own[name], bool) for own in candidates)
    ]
    return "n_components" if "n_components" in names else next(iter(names), None)


def _named(own: Mapping[str, Any], across: str | None) -> str:
    """The settings of a line of candidates; those that differ in the random start alone share it."""
    others = {name: value for name, value in own.items() if name not in (across, "random_state")}
    return label(", ".join(f"{name}={value}" for name, value in others.items()), 60)


def _draw_names(axes: Any, names: list[str], of_candidates: list[str]) -> list[int]:
    """Write the names below the axis, which has a place for each; returns the places of the candidates."""
    axes.set_xticks(range(len(names)), names, fontsize="small", **AS_IT_IS)
    if len(names) > 3:
        axes.tick_params("x", rotation=20)
    axes.set_xlim(-0.5, len(names) - 0.5)
    return [names.index(name) for name in of_candidates]


def _draw_line(
    axes: Any, line: str, number: int, name: str, points: Sequence[tuple[float, float, float]]
) -> None:
    """Candidates with their errors, and a line through their means where several have the same place."""
    style = {"color": ACCENT, "alpha": max(0.4, 1 - 0.2 * (number // len(_LINES)))}
    xs, ys, errors = zip(*sorted(points), strict=True)
    axes.errorbar(xs, ys, np.nan_to_num(errors), fmt="o", markersize=4, capsize=3, linewidth=1, **style)
    places = sorted(set(xs))
    means = [np.mean([y for x, y in zip(xs, ys, strict=True) if x == place]) for place in places]
    axes.plot(places, means, linestyle=line, linewidth=1.2, label=name or None, **style)


PLOT = Plot(
    "sweep",
    draw,
    summary="scores of the candidates of a sweep in Python, with standard errors",
    needs=["candidates"],
)
