"""How a model learned: held-out score, bound, change of its topics and what was measured, against updates, seconds or
tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.base import Setting
from bigtopic.plots._base import CURVES, Plot
from bigtopic.plots._style import ACCENT, AS_IT_IS, bare, label, resize

__all__ = ["PLOT"]

_WATCHED, _ERROR = "measured ", " standard error"
_AXES = {"updates": "step", "seconds": "seconds", "tokens": "n_tokens"}

Curve = Sequence[tuple[float, float]]


def draw(figure: Any, subject: Any, results: Any, settings: Mapping[str, Any]) -> None:
    against = settings["against"]
    history = _flat(subject.model.history_)
    watched = dict.fromkeys(key for row in history for key in row if key.startswith(_WATCHED))
    titles = {**CURVES, **{key: label(key.removeprefix(_WATCHED)) for key in watched}}
    curves = {title: _curve(history, key, against) for key, title in titles.items()}
    curves = {title: curve for title, curve in curves.items() if curve}
    resize(figure, 7, 1 + 2.2 * len(curves))
    panels = figure.subplots(len(curves), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (title, curve) in zip(panels, curves.items(), strict=True):
        _draw_curve(axes, curve, title)
    panels[-1].set_xlabel(against)


def _flat(history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows, with what `evaluate.Watch` has measured beside the other figures; without its standard errors. Updates
    count on over the phases of a method."""
    return [
        {
            **row,
            "step": row["step"] + before,
            **{_WATCHED + key: v for key, v in row.get("measures", {}).items() if not key.endswith(_ERROR)},
        }
        for row, before in zip(history, _updates_before(history), strict=True)
    ]


def _updates_before(history: Sequence[Mapping[str, Any]]) -> Iterator[int]:
    """For each row the updates of the phases before its own."""
    before, last = 0, dict[str, Any](step=0)
    for row in history:
        if row.get("phase") != last.get("phase", row.get("phase")):
            before += last["step"]
        yield before
        last = dict(row)


def _curve(history: Sequence[Mapping[str, Any]], key: str, against: str) -> Curve:
    """Points of a curve; a run of `partial_fit` calls has a clock for each call.

    Raises
    ------
    SettingError
        When the points do not follow one another.
    """
    points = [(float(row[_AXES[against]]), float(row[key])) for row in history if row.get(key) is not None]
    if points != sorted(points, key=lambda point: point[0]):
        raise SettingError(
            f"{argument('against')}: the {against} of this history begin again, as several calls learned; use 'updates'"
        )
    return points


def _draw_curve(axes: Any, curve: Curve, title: str) -> None:
    xs, ys = zip(*curve, strict=True)
    axes.plot(xs, ys, "o-", color=ACCENT, linewidth=1.6, markersize=3.5 if len(xs) < 60 else 0)
    last = f"{ys[-1]:#.4g}".replace("-", "−")  # as long as the axis' minus signs
    axes.annotate(last, curve[-1], (6, 0), textcoords="offset points", va="center", color=ACCENT)
    axes.set_ylabel(title, **AS_IT_IS)
    axes.set_xlim(left=0)
    axes.margins(y=0.1)
    axes.grid(alpha=0.25)
    bare(axes)


PLOT = Plot(
    "history",
    draw,
    summary="how the model learned: held-out score, bound, change of the topics",
    needs=["history", "curves"],
    settings={"against": Setting("updates", "Horizontal axis.", tuple(_AXES))},
)
