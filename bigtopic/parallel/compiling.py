"""What numba compiles in this process while something else goes on, so that a person is told and rates are true."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["watched"]


@contextmanager
def watched(begun: Callable[[], None], ended: Callable[[float], None]) -> Iterator[None]:
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
