"""Rounds one after the other, as plainly as can be: what every synchronous executor must compute, to the bit.

One thread reads, infers, adds and steps; every version of the params is kept, and a delayed round reads an old one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bigtopic.runtime.cursor import Cursor, RoundReport
from bigtopic.runtime.estep import evaluate, gather
from bigtopic.runtime.executors.protocol import Run
from bigtopic.runtime.params import Params
from bigtopic.runtime.reduce import add
from bigtopic.runtime.remembering import Nothing
from bigtopic.runtime.rounds import round_stats, step
from bigtopic.runtime.slices import Round, SliceRef
from bigtopic.runtime.work import Turn
from bigtopic.types import Stats

__all__ = ["learn", "total"]

SUBTREE, WINDOW = 16, 64


def learn(run: Run, params: Params, n_passes: int) -> Iterator[tuple[Params, RoundReport]]:
    """The params after every round of some passes, and its report; `params` itself does not move."""

    def map_reduce(rnd: Round, arrays: Mapping[str, Any], turn: Turn) -> Stats:
        return total([infer(ref, arrays, turn) for ref in rnd.slices])

    def infer(ref: SliceRef, arrays: Mapping[str, Any], turn: Turn) -> Stats:
        gathered = gather(run.parts[ref.part].read(ref.start, ref.stop), arrays, run.work)
        return evaluate(ref, gathered, run.work, turn, remembered)

    remembered = Remembered(run.work.kernel.state)
    n_steps = 0
    for epoch in range(n_passes):
        for stretch in run.plan.stretches(epoch):
            versions = [params]
            for number, rnd in enumerate(stretch):
                here = Cursor(epoch, rnd.number, n_steps)
                seen = versions[max(0, number - run.plan.delay)]
                stats = round_stats(seen, rnd, here, run.settings, map_reduce)
                params = versions[-1].copy()
                report = step(params, here, stats, run.settings)
                versions.append(params)
                n_steps += 1
                yield params, report


class Remembered(Nothing):
    """The state of all slices at all times: of each pass, or of each turn of a round."""

    def __init__(self, lives: str) -> None:
        self._lives = lives
        self._state: dict[tuple[Any, ...], Any] = {}

    def read(self, ref: SliceRef, turn: Turn, kept: Any) -> Any:
        return self._state.get((ref, *self._time(turn)))

    def write(self, ref: SliceRef, turn: Turn, kept: Any, state: Any) -> None:
        later = replace(turn, epoch=turn.epoch + 1, number=turn.number + 1)
        self._state[(ref, *self._time(later))] = state

    def _time(self, turn: Turn) -> tuple[int, ...]:
        return (turn.epoch,) if self._lives == "run" else (turn.step, turn.number)


def total(stats: Sequence[Stats]) -> Stats:
    """The sum of a round's slices along the tree: sixteen to a subtree, 64 of these to a window, then on from left."""
    subtrees = [_halved(stats[i : i + SUBTREE]) for i in range(0, len(stats), SUBTREE)]
    windows = [_from_left(subtrees[i : i + WINDOW]) for i in range(0, len(subtrees), WINDOW)]
    return _from_left(windows)


def _halved(stats: Sequence[Stats]) -> Stats:
    if len(stats) == 1:
        return stats[0]
    middle = 1 << (len(stats) - 1).bit_length() - 1
    return add(_halved(stats[:middle]), _halved(stats[middle:]))


def _from_left(stats: Sequence[Stats]) -> Stats:
    return stats[0] if len(stats) == 1 else add(_from_left(stats[:-1]), stats[-1])
