"""From stretch to stretch: what the executors have in common that know the params after each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from bigtopic.runtime.executors.protocol import Progress
from bigtopic.runtime.params import Params
from bigtopic.runtime.rounds import Cursor, RoundReport
from bigtopic.runtime.slices import Round

__all__ = ["by_stretches"]


def by_stretches(
    stretches: Iterator[list[Round]],
    params: Params,
    cursor: Cursor,
    max_rounds: int | None,
    max_seconds: float | None,
    do: Callable[[Params, list[Round], Cursor, list[RoundReport]], None],
) -> Progress:
    """What `Executor.advance` yields: `params` itself after each stretch, moved in place.

    `do` moves the params by a stretch and appends its reports one by one.
    """
    begun = time.perf_counter()
    n_rounds = 0
    for stretch in stretches:
        late = max_seconds is not None and time.perf_counter() - begun >= max_seconds
        if late or (max_rounds is not None and n_rounds >= max_rounds):
            return
        reports: list[RoundReport] = []
        try:
            do(params, stretch, replace(cursor, step=cursor.step + n_rounds), reports)
        except BaseException:
            if reports:
                yield params, reports
            raise
        yield params, reports
        n_rounds += len(stretch)
