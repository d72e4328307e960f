"""A progress bar for work that may take more than two seconds, in terminals and notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from io import StringIO
from types import TracebackType
from typing import Any

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
            self._watching.enter_context(_compilations(self._compile, self._compiled))

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
        return _notebook_bar()
    from tqdm import tqdm

    return partial(tqdm, dynamic_ncols=True)


@cache
def _notebook_bar() -> Any:
    """The class of bars that are text in the output of a cell: they need no widgets, and write nothing to stderr."""
    from IPython.display import display
    from tqdm import tqdm

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

    return NotebookBar


@contextmanager
def _compilations(begun: Callable[[], None], ended: Callable[[float], None]) -> Iterator[None]:
    """Call `begun` when a function begins to be compiled, in any thread, and `ended` with the seconds it took.

    A function that another one calls is compiled within it, and does not count again.
    """
    events: Any = sys.modules.get("numba.core.event")
    if events is None:  # nothing is compiled, and to import numba takes half a second
        yield
        return

    class Compiling(events.Listener):
        depth = 0
        start = 0.0

        def on_start(self, event: Any) -> None:
            self.depth += 1
            if self.depth == 1:
                self.start = time.perf_counter()
                begun()

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                ended(time.perf_counter() - self.start)

    with events.install_listener("numba:compile", Compiling()):
        yield
