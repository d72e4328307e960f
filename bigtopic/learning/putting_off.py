"""Which steps put off what they add to rows, so that threads add the updates of a group side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from bigtopic.learning.rounds import Settings
from bigtopic.learning.stopping import uninterrupted
from bigtopic.state import _kernels
from bigtopic.state.additions import Addition, Additions
from bigtopic.state.contract.scheme_steps import decays_too_much
from bigtopic.state.lazy_array import USUAL_WEIGHT, LazyArray

__all__ = ["Unsettled", "keeping_scales", "puts_off", "putting_off"]

LEAST_SCALE = 1e-30  # of which a factor in float32 is finite
LARGEST_SUM = 1e37  # of usual statistics: finite in float32
# Two groups of two updates; with two of one, threads wait longer than they add
LEAST_DELAY = 3


def puts_off(arrays: Mapping[str, LazyArray], settings: Settings, delay: int) -> bool:
    """Whether steps put off what they add to rows: not where `delay` is below `LEAST_DELAY`, where steps do more than
    add with one weight and one decay for all rows, or where rows are of integers, which are rounded."""
    adds_up = all(getattr(scheme, "adds_up", False) for scheme in settings.schemes.values())
    floats = all(array.dtype.kind == "f" for array in arrays.values())
    return delay >= LEAST_DELAY and not settings.prior_schemes and not settings.average and adds_up and floats


class Unsettled:
    """Arrays whose steps put off what they add to rows.

    Attributes
    ----------
    seen : the arrays as they are for rounds that gather now; steps do not move them
    before_end : called before the end, by who has applied some of what was put off
    """

    def __init__(self, arrays: Mapping[str, LazyArray], n_threads: int) -> None:
        self._arrays, self._additions = arrays, Additions(n_threads)
        self.seen = self._still()
        self.before_end: Callable[[], None] | None = None
        self._next: deque[Mapping[str, LazyArray]] = deque()
        for array in arrays.values():
            array.put_off = self._additions

    def seal(self) -> Sequence[Addition]:
        """Close the batch of what the steps so far have put off, and return it; one later call of `settle` applies it.

        Raises
        ------
        ModelError
            When a step has decayed so much that a later one could not be added in the precision of the rows.
        """
        for name, array in self._arrays.items():
            if array.scale.min() < LEAST_SCALE:
                raise decays_too_much(name)
        batch = self._additions.seal()
        self._next.append(self._still())
        return batch

    def step(
        self, name: str, added: np.ndarray, weights: np.ndarray, decays: np.ndarray
    ) -> np.ndarray | None:
        """Do several steps of an array one after the other, but for what they add to rows: that is then for
        `append_sealed`.

        Parameters
        ----------
        added : float64 (n_updates, n_columns), sums of the statistics
        weights, decays : float64 (n_updates,), for `LazyArray.add`

        Returns
        -------
        factors : (n_updates, n_columns), by which the statistics are to be added to rows. None, and nothing has moved,
            where a number is not what most steps lead to: `add` says why, if it is wrong
        """
        array = self._arrays[name]
        if not (np.abs(weights).max() < USUAL_WEIGHT and decays.min() > 0.0 and decays.max() <= 1.0):
            return None
        scale, sums, factors = array.scale.copy(), array.sums.copy(), np.empty(added.shape, array.dtype)
        least = -LARGEST_SUM if array.normalised_over is None else 0.0
        if not _kernels.move_sums(
            scale, sums, added, weights, decays, factors, LEAST_SCALE, least, LARGEST_SUM
        ):
            return None
        array.scale, array.sums = scale, sums
        return factors

    def append_sealed(self, batch: Callable[[], list[Addition]]) -> None:
        """Put off a batch that is closed; it is asked for when `settle` applies it."""
        self._additions.append_sealed(batch)
        self._next.append(self._still())

    def present(self, name: str) -> LazyArray:
        """An array after all steps so far, whose rows are not to be read."""
        return self._arrays[name]

    def note_settled(self) -> None:
        """The caller has applied the oldest closed batch itself."""
        self._additions.forget_sealed()
        self.seen = self._next.popleft()

    def settle(self) -> None:
        """Apply the oldest closed batch; nothing reads the rows meanwhile."""
        self._additions.do_sealed()
        self.seen = self._next.popleft()

    def end(self) -> None:
        """Apply all; from now on, steps put nothing off."""
        try:
            if self.before_end is not None:
                self.before_end()
            self._additions.do()
        finally:
            for array in self._arrays.values():
                array.put_off = None

    def _still(self) -> Mapping[str, LazyArray]:
        return {name: array.still() for name, array in self._arrays.items()}


@contextmanager
def putting_off(
    arrays: Mapping[str, LazyArray], settings: Settings, delay: int, n_threads: int = 1
) -> Iterator[Unsettled | None]:
    """What the arrays put off inside this context; None where they put nothing off, see `puts_off`."""
    if not puts_off(arrays, settings, delay):
        yield None
        return
    with keeping_scales(arrays, settings, delay):
        unsettled = Unsettled(arrays, n_threads)
        try:
            yield unsettled
        finally:
            with uninterrupted():
                unsettled.end()


@contextmanager
def keeping_scales(arrays: Mapping[str, LazyArray], settings: Settings, delay: int) -> Iterator[None]:
    """Scales that become too small are folded at the end of this context where steps may put additions off, whether
    they do or not: the bits are then the same."""
    keeps = puts_off(arrays, settings, delay)
    for array in arrays.values():
        array.keeps_scale = keeps
    try:
        yield
    finally:
        with uninterrupted():
            for array in arrays.values() if keeps else ():
                array.keeps_scale = False
                array.fold_if_small()
