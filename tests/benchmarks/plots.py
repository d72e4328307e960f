"""Pictures of the page of benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from curves import Curve

IMAGES = Path(__file__).parents[2] / "docs" / "images"
OURS = "#3f51b5"
OTHERS = {
    "scikit-learn": "#e07b00",
    "gensim": "#2e8b57",
    "gensim-multicore": "#7cb342",
    "gensim-authors": "#00897b",
    "tomotopy": "#c2185b",
    "spark": "#8d6e63",
    "vowpal-wabbit": "#607d8b",
}
LARGEST_SVG = 200_000


def draw_race(name: str, ours: Sequence[Curve], theirs: Sequence[dict[str, Curve]], unigram: float) -> str:
    """Score against seconds, medians over seeds, a line for each system; the path of the picture below docs/."""
    figure, axes = canvas(figsize=(8, 4.5))
    lines = {peer: median([curves[peer] for curves in theirs]) for peer in theirs[0]}
    for peer, (seconds, scores) in lines.items():
        axes.plot(seconds, scores, "o-", color=OTHERS[peer], linewidth=1.4, markersize=3)
    lines["bigtopic"] = median(ours)
    axes.plot(*lines["bigtopic"], color=OURS, linewidth=3.5, zorder=5)
    axes.axhline(unigram, color="0.5", linewidth=1, linestyle=":")
    place = {"ha": "right", "va": "bottom", "transform": axes.get_yaxis_transform()}
    axes.text(1, unigram, "unigram model", color="0.4", **place)
    best = max(scores[-1] for _, scores in lines.values())
    axes.set_ylim(unigram - 0.05 * (best - unigram), best + 0.08 * (best - unigram))
    name_lines(axes, lines, gap=0.05 * (best - unigram))
    axes.set(xscale="log", xlabel="seconds of training", ylabel="held-out score, nats per token")
    axes.margins(x=0.2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return save(figure, name)


def draw_ways(name: str, ways: dict[str, Sequence[Any]]) -> str:
    """Held-out score, and NPMI, against seconds, medians over seeds, of `auto.Way`; the path of the picture."""
    figure, panels = canvas(2, figsize=(10, 4.2))
    for axes, measure, label_of in (
        (panels[0], "scores", "held-out score, nats per token"),
        (panels[1], "npmi", "NPMI on the documents learned from"),
    ):
        lines = {system: median(found, measure) for system, found in ways.items()}
        for system, (seconds, values) in lines.items():
            own = system not in OTHERS
            style = {"color": OURS, "linewidth": 2.5} if own else {"color": OTHERS[system], "linewidth": 1.4}
            axes.plot(seconds, values, "-" if own else "o-", markersize=3, **style)
        ends = [values[-1] for _, values in lines.values()]
        low, high = min(min(values[len(values) // 4 :]) for _, values in lines.values()), max(ends)
        axes.set_ylim(low - 0.1 * (high - low), high + 0.15 * (high - low))
        name_lines(axes, lines, gap=0.08 * (high - low))
        axes.set(xscale="log", xlabel="seconds of training", ylabel=label_of)
        axes.margins(x=0.2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return save(figure, name)


def draw_methods(name: str, points: Sequence[tuple[str, str, float, float]], unigram: float) -> str:
    """Score against seconds of (method, settings, seconds, score); the path of the picture.

    A line joins a method's two settings; its name is at the one with the higher score.
    """
    figure, axes = canvas(figsize=(9, 7))
    for settings, filled in (("paper", "none"), ("ours", OURS)):
        at = [(seconds, score) for _, which, seconds, score in points if which == settings]
        if at:
            label_of = f"settings: {settings}"
            axes.plot(
                *zip(*at, strict=True), "o", color=OURS, markerfacecolor=filled, markersize=5, label=label_of
            )
    axes.axhline(unigram, color="0.5", linewidth=1, linestyle=":", label="unigram model")
    axes.set(xscale="log", xlabel="seconds of training", ylabel="held-out score, nats per token")
    axes.margins(x=0.15)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.legend(loc="lower left")
    best = {}
    for method in dict.fromkeys(point[0] for point in points):
        own = sorted((score, seconds) for found, _, seconds, score in points if found == method)
        axes.plot([x for _, x in own], [y for y, _ in own], color=OURS, linewidth=0.6, alpha=0.4)
        best[method] = own[-1][::-1]
    name_points(figure, axes, best)
    return save(figure, name)


def name_points(figure: Any, axes: Any, points: dict[str, tuple[float, float]]) -> None:
    """Names right of points, from the highest on, each below those that it would cover."""
    figure.draw_without_rendering()  # so that the layout is known
    taken: list[tuple[float, float, float]] = []
    for name, at in sorted(points.items(), key=lambda point: -point[1][1]):
        x, y = begun = axes.transData.transform(at) * 72 / figure.dpi
        width = 4.2 * len(name)  # points, of letters of 7
        for left, right, top in sorted(taken, key=lambda box: -box[2]):
            if left < x + width and x < right and abs(top - y) < 7:
                y = top - 7
        taken.append((x, x + width, y))
        axes.annotate(
            name, at, (6, y - begun[1]), textcoords="offset points", color="0.3", va="center", fontsize=7
        )


def median(curves: Sequence[Any], measure: str = "scores") -> tuple[np.ndarray, np.ndarray]:
    """Medians over seeds of seconds and scores, or another measure of the curves, at the efforts that all have."""
    common = sorted(set.intersection(*(set(curve.efforts) for curve in curves)))
    at = [[curve.efforts.index(effort) for effort in common] for curve in curves]
    seconds = [np.asarray(c.seconds)[i] for c, i in zip(curves, at, strict=True)]
    values = [np.asarray(getattr(c, measure))[i] for c, i in zip(curves, at, strict=True)]
    return np.median(seconds, axis=0), np.median(values, axis=0)


def name_lines(axes: Any, lines: dict[str, tuple[np.ndarray, np.ndarray]], gap: float) -> None:
    """Names right of the ends of their lines, at least `gap` apart from top to bottom."""
    above = np.inf
    for name in sorted(lines, key=lambda name: -lines[name][1][-1]):
        seconds, scores = lines[name]
        above = min(scores[-1], above - gap)
        weight = "normal" if name in OTHERS else "bold"
        label(axes, name, seconds[-1], above, OTHERS.get(name, OURS), weight=weight)


def label(axes: Any, text: str, x: float, y: float, color: str, **more: Any) -> None:
    """A name right of a point."""
    axes.annotate(text, (x, y), (6, 0), textcoords="offset points", color=color, va="center", **more)


def canvas(n_panels: int = 1, **settings: Any) -> tuple[Any, Any]:
    """An empty figure and its axes side by side, in the style of the page; settings as of `plt.subplots`."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "bigtopic", "font.family": "sans-serif"})
    plt.rcParams.update({"axes.grid": True, "grid.alpha": 0.25})
    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    return plt.subplots(1, n_panels, layout="constrained", **settings)


def save(figure: Any, name: str) -> str:
    """As SVG, or as PNG where that would be large."""
    path = IMAGES / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    if path.stat().st_size > LARGEST_SVG:
        path.unlink()
        path = path.with_suffix(".png")
        figure.savefig(path, dpi=150)
    return f"images/{path.name}"
