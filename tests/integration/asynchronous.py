"""A toy executor that is not synchronous: minibatches in flight, each moving the params when it comes back."""

from __future__ import annotations

import random
import time
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any

from bigtopic.learning.estep import evaluate, gather
from bigtopic.learning.executors.base import Executor, Until, Updates
from bigtopic.learning.reduce import Tree
from bigtopic.learning.remembering import remembering
from bigtopic.learning.rounds import iteration_of, step
from bigtopic.learning.run import Run
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import Round
from bigtopic.state.params import Params


class Asynchronous(Executor):
    """Any of those in flight may come back first: a seed says which. Rounds of one inner iteration only."""

    def __init__(self, run: Run, in_flight: int, seed: int = 0) -> None:
        super().__init__(run)
        self._in_flight, self._random = in_flight, random.Random(seed)
        self._reader, self._pool = BlockReader(run.parts, ahead=0), ThreadPoolExecutor(in_flight)
        self._remembering = remembering(run.work)

    def advance(self, params: Params, cursor: Cursor, until: Until) -> Updates:
        begun, n_steps = time.perf_counter(), 0
        flying: list[tuple[Round, Future[Any]]] = []
        rounds = self.run.plan.rounds(cursor.pass_number, cursor.round, cursor.ahead)
        while True:
            late = until.max_seconds is not None and time.perf_counter() - begun >= until.max_seconds
            most = (
                self._in_flight
                if until.max_rounds is None
                else min(self._in_flight, until.max_rounds - n_steps)
            )
            for rnd in [] if late else islice(rounds, most - len(flying)):
                here = Cursor(cursor.pass_number, rnd.number, cursor.step + n_steps)
                flying.append((rnd, self._send(params, rnd, here)))
            if not flying:
                return
            rnd, stats = flying.pop(self._random.randrange(len(flying)))
            here = Cursor(cursor.pass_number, rnd.number, cursor.step + n_steps)
            yield params, [step(params, here, stats.result(), self.run.settings)]
            n_steps += 1

    def _send(self, params: Params, rnd: Round, here: Cursor) -> Future[Any]:
        work, iteration = self.run.work, iteration_of(here, 1, self.run.settings)
        gathered = [(ref, gather(self._reader.block(ref), params.arrays, work)) for ref in rnd.slices]

        def stats() -> Any:
            tree = Tree(len(gathered))
            for ref, rows in gathered:
                tree.push(evaluate(ref, rows, work, iteration, self._remembering))
            self._remembering.flush()
            return tree.result()

        return self._pool.submit(stats)

    def close(self) -> None:
        self._pool.shutdown()
        self._remembering.close()
