"""Random numbers of a scheme: functions of (seed, update, row), so that neither the order of rows nor which of them are
updated together can change them.

They are the streams of a counter-based generator: Salmon et al. (2011), "Parallel random numbers: as easy as 1, 2, 3".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

__all__ = ["generators"]


def generators(seed: int, step: int, rows: np.ndarray) -> Iterator[np.random.Generator]:
    """For each row the generator of its numbers at this update: one object, whose numbers the next one replaces."""
    philox = np.random.Philox(key=seed % (1 << 64))
    generator, state = np.random.Generator(philox), philox.state
    for row in rows:
        state["state"]["counter"] = np.array([0, 0, step, row], np.uint64)
        philox.state = state
        yield generator
