"""The learning curve as a small drawing in SVG, for the page of a model and the panel of a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Curve", "curve_of"]

_TITLES = {"score": "Held-out nats per token", "bound": "Variational bound, nats per token"}
_WIDTH, _HEIGHT, _MARGIN = 560.0, 150.0, 8.0  # pixels
_MOST_DOTS = 100  # more make a band


class Curve(NamedTuple):
    """A learning curve: what it is of, the drawing, which has no text from data, and the figures at its ends."""

    title: str
    svg: str
    first: str
    last: str
    tokens: str


def curve_of(history: Sequence[Mapping[str, Any]]) -> Curve | None:
    """The held-out score, or else the bound, against tokens seen; None with fewer than two values.

    Parameters
    ----------
    history : rows with "n_tokens", and "score" or "bound", as in `history_`
    """
    of_key = {key: [row for row in history if row.get(key) is not None] for key in _TITLES}
    key = next((key for key, rows in of_key.items() if len(rows) >= 2), None)
    if key is None:
        return None
    tokens, values = ([float(row[name]) for row in of_key[key]] for name in ("n_tokens", key))
    low, span, last = min(values), (max(values) - min(values)) or 1.0, max(tokens) or 1.0
    across = [round(_MARGIN + (_WIDTH - 2 * _MARGIN) * x / last, 1) for x in tokens]
    down = [round(_MARGIN + (_HEIGHT - 2 * _MARGIN) * (1 - (y - low) / span), 1) for y in values]
    places = [*zip(across, down, strict=True)]
    labels = [f"{y:.3f} after {x:,.0f} tokens" for x, y in zip(tokens, values, strict=True)]
    svg = _drawn(_TITLES[key], places, labels if len(labels) <= _MOST_DOTS else [])
    return Curve(_TITLES[key], svg, f"{values[0]:.3f}", f"{values[-1]:.3f}", f"{last:,.0f}")


def _drawn(title: str, places: Sequence[tuple[float, float]], labels: Sequence[str]) -> str:
    """The curve in the colours of the page, or of the text around it."""
    ink = "var(--deep, currentColor)"
    dots = "".join(
        f'<circle cx="{x}" cy="{y}" r="3.5" fill="{ink}"><title>{label}</title></circle>'
        for (x, y), label in zip(places, labels, strict=False)
    )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{title}">'
        f'<line x1="0" y1="{_HEIGHT - 0.5}" x2="{_WIDTH}" y2="{_HEIGHT - 0.5}" stroke="var(--line, currentColor)"/>'
        f'<polyline points="{" ".join(f"{x},{y}" for x, y in places)}" fill="none" stroke="{ink}" stroke-width="2" '
        f'stroke-linejoin="round"/>{dots}</svg>'
    )
