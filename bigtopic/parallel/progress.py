"""A progress bar for work that may take more than two seconds, in terminals and notebooks."""

from __future__ import annotations

import sys
from functools import partial
from types import TracebackType
from typing import Any

from bigtopic.printable import printable

__all__ = ["Progress"]


class Progress:
    """A bar with rate and time left, shown only once two seconds have passed.

    Parameters
    ----------
    description : shown before the bar
    total : in `unit`; None when unknown
    unit : "tokens", "docs", "B", ...
    show : True, False, or None: only if standard error is a terminal or this is a notebook
    """

    def __init__(self, description: str, total: float | None, unit: str, show: bool | None = None) -> None:
        self._bar: Any = None
        has_stderr = sys.stderr is not None  # None where it is closed: `2>&-`, pythonw
        self._silent = show is False or not has_stderr
        in_notebook = "ipykernel" in sys.modules
        if show is None:
            show = in_notebook or (has_stderr and sys.stderr.isatty())
        if show and (has_stderr or in_notebook):
            self._bar = _bar(in_notebook)(
                total=total, desc=description, unit=unit, unit_scale=True, delay=2.0, leave=False
            )

    def update(self, amount: float, **figures: object) -> None:
        """Advance by `amount`; `figures` are shown after the bar."""
        if self._bar is not None:
            if figures:
                self._bar.set_postfix({name: str(value) for name, value in figures.items()}, refresh=False)
            self._bar.update(amount)

    def note(self, text: str) -> None:
        """Write a line to standard error, also where there is no bar, unless `show` is False."""
        if not self._silent:
            print(printable(text), file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _bar(in_notebook: bool) -> Any:
    """The class of bars. tqdm's own one for notebooks needs widgets, and warns where there are none."""
    if in_notebook:
        from bigtopic.parallel.notebook_bar import NotebookBar

        return NotebookBar
    from tqdm import tqdm

    return partial(tqdm, dynamic_ncols=True)
