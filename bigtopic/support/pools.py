"""Threads of a generator.

The garbage collector closes an abandoned generator in whatever thread it happens to run: also in one that is just
starting, and holds a lock of `threading`. Waiting there until other threads end takes the same lock, forever. So these
pools end when what was submitted has ended; where a generator is closed, the threads themselves end a moment later.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

__all__ = ["Pool"]


class Pool(ThreadPoolExecutor):
    """A pool whose `with` block ends when nothing of it is running; what has not begun by then is cancelled."""

    def __init__(self, n_threads: int, name: str) -> None:
        super().__init__(n_threads, thread_name_prefix=name)
        self._left: set[Future[Any]] = set()

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """As `ThreadPoolExecutor.submit`."""
        future = super().submit(work, *arguments, **named)
        self._left.add(future)
        future.add_done_callback(self._left.discard)
        return future

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        self.shutdown(wait=kind is not GeneratorExit, cancel_futures=True)
        wait([*self._left])
