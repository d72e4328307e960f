"""A figure that notebooks show, without pyplot: no window, no state shared with other figures.

The only module that imports matplotlib at its top; it is imported when a plot is drawn.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

from matplotlib.figure import Figure

__all__ = ["Picture"]


class Picture(Figure):
    """A `matplotlib.figure.Figure`; its size is chosen by the plot."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"layout": "constrained", **settings})

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()
