"""Rounds one after the other, as plainly as can be: what every synchronous executor must compute, to the bit.

One thread reads, infers, adds and steps. The rounds of an exchange are inferred with the params that it began with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reference import replicas

from bigtopic.corpus.blocks import concatenate
from bigtopic.learning.estep import evaluate, gather
from bigtopic.learning.reduce import add
from bigtopic.learning.remembering import NoState
from bigtopic.learning.rounds import round_stats, step
from bigtopic.learning.run import Iteration, Run
from bigtopic.plan.cursor import Cursor, RoundReport
from bigtopic.plan.slices import Round, SliceRef
from bigtopic.state.params import Params
from bigtopic.types import Stats

__all__ = ["learn", "total"]


def learn(run: Run, params: Params, n_passes: int) -> Iterator[tuple[Params, RoundReport]]:
    """The params after every round of some passes, and its report; `params` itself does not move."""

    def map_reduce(rnd: Round, arrays: Mapping[str, Any], iteration: Iteration) -> Stats:
        return total([infer(ref, arrays, iteration) for ref in rnd.slices])

    def infer(ref: SliceRef, arrays: Mapping[str, Any], iteration: Iteration) -> Stats:
        documents = concatenate([run.parts[one.part].read(one.start, one.stop) for one in ref.pieces])
        gathered = gather(documents, arrays, run.work)
        return evaluate(ref, gathered, run.work, iteration, remembered)

    remembered = Remembered(run.work.kernel.state)
    n_steps = 0
    for pass_number in range(n_passes):
        for exchange in run.plan.exchanges(pass_number):
            cursors = [Cursor(pass_number, rnd.number, n_steps + i) for i, rnd in enumerate(exchange.rounds)]
            n_steps += len(cursors)
            if exchange.copies:
                params, reports = replicas.exchange(
                    params, exchange.rounds, cursors, run.plan, run.settings, map_reduce, total
                )
                yield from ((params, report) for report in reports)
                continue
            found = [
                round_stats(params, rnd, here, run.settings, map_reduce)
                for rnd, here in zip(exchange.rounds, cursors, strict=True)
            ]
            for missed, (here, stats) in enumerate(zip(cursors, found, strict=True)):
                params = params.copy()
                report = step(params, here, stats, run.settings, 1 / len(found), missed)
                yield params, report


class Remembered(NoState):
    """The state of all slices at all times: of each pass, or of each inner iteration of a round."""

    def __init__(self, lives: str) -> None:
        self._lives = lives
        self._state: dict[tuple[Any, ...], Any] = {}

    def read(self, ref: SliceRef, iteration: Iteration, kept: Any) -> Any:
        return self._state.get((ref, *self._time(iteration)))

    def write(self, ref: SliceRef, iteration: Iteration, kept: Any, state: Any) -> None:
        later = replace(iteration, pass_number=iteration.pass_number + 1, number=iteration.number + 1)
        self._state[(ref, *self._time(later))] = state

    def _time(self, iteration: Iteration) -> tuple[int, ...]:
        return (iteration.pass_number,) if self._lives == "run" else (iteration.step, iteration.number)


def total(values: Sequence[Any], plus: Callable[[Any, Any], Any] = add) -> Any:
    """The sum of a round's slices along the tree: halved again and again, the left half the larger one."""
    if len(values) == 1:
        return values[0]
    middle = -(-len(values) // 2)
    return plus(total(values[:middle], plus), total(values[middle:], plus))
