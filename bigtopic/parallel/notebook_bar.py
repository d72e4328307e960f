"""A progress bar as text in the output of a notebook's cell: it needs no widgets, and writes nothing to stderr."""

from __future__ import annotations

from io import StringIO
from typing import Any

from IPython.display import display
from tqdm import tqdm

__all__ = ["NotebookBar"]


class NotebookBar(tqdm):
    """tqdm's bar; it appears when it is first shown, and is empty once it is closed."""

    def __init__(self, **settings: Any) -> None:
        self._output: Any = None
        super().__init__(file=StringIO(), ncols=100, **settings)

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        text = {"text/plain": str(self) if msg is None else msg}
        if self._output is not None:
            self._output.update(text, raw=True)
        elif text["text/plain"]:
            self._output = display(text, raw=True, display_id=True)
