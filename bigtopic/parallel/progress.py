"""A progress bar for work that may take more than two seconds, in terminals and notebooks."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Any

from bigtopic.parallel import compiling
from bigtopic.wording import printable

__all__ = ["Progress", "say", "shown"]

DELAY = 2.0  # seconds


def say(text: str, show: bool | None = None) -> None:
    """Write a line to standard error, where there is one, unless `show` is False."""
    if show is not False and sys.stderr is not None:
        print(printable(text), file=sys.stderr, flush=True)


def shown(show: bool | None) -> bool:
    """Whether bars are shown: None is only if standard error is a terminal or this is a notebook."""
    in_terminal = sys.stderr is not None and sys.stderr.isatty()
    return ("ipykernel" in sys.modules or in_terminal) if show is None else show


class Progress:
    """A bar with rate and time left, shown only once two seconds have passed. It says when functions are compiled, on
    first use, which does not count as time of the work.

    Parameters
    ----------
    description : shown before the bar
    total : in `unit`; None when unknown
    unit : "tokens", "docs", "B", ...
    show : True, False, or None: only if standard error is a terminal or this is a notebook
    """

    def __init__(self, description: str, total: float | None, unit: str, show: bool | None = None) -> None:
        self._bar: Any = None
        self._description = description
        self._begun = time.perf_counter()
        self._watching = ExitStack()
        has_stderr = sys.stderr is not None  # None where it is closed: `2>&-`, pythonw
        self._silent = show is False or not has_stderr
        in_notebook = "ipykernel" in sys.modules
        if shown(show) and (has_stderr or in_notebook):
            self._bar = _bar(in_notebook)(
                total=total, desc=description, unit=unit, unit_scale=True, delay=DELAY, leave=False
            )
            self._watching.enter_context(compiling.watched(self._compile, self._compiled))

    def update(self, amount: float, **figures: object) -> None:
        """Advance by `amount`; `figures` are shown after the bar."""
        if self._bar is not None:
            if figures:
                self._bar.set_postfix({name: str(value) for name, value in figures.items()}, refresh=False)
            self._bar.update(amount)

    def note(self, text: str) -> None:
        """Write a line to standard error, also where there is no bar, unless `show` is False."""
        say(text, not self._silent)

    def _compile(self) -> None:
        self._bar.set_description(f"{self._description} (compiling, once)", refresh=False)
        if time.perf_counter() - self._begun > DELAY:
            self._bar.refresh()

    def _compiled(self, seconds: float) -> None:
        self._bar.set_description(self._description, refresh=False)
        self._bar.start_t += seconds
        self._bar.last_print_t = min(self._bar.last_print_t + seconds, time.time())

    def close(self) -> None:
        self._watching.close()
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
