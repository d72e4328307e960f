"""Long rounds as Dask graphs of E-step tasks and their reduction; the driver owns the params and does the step."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from bigtopic.runtime import sharing
from bigtopic.runtime.estep import Turn, estep_group
from bigtopic.runtime.executors.protocol import Executor, ExecutorSpec, Progress, Run
from bigtopic.runtime.executors.sending import Sender
from bigtopic.runtime.executors.stretches import Stretch, by_stretches, do_rounds
from bigtopic.runtime.params import LazyArray, Overlay, Params
from bigtopic.runtime.reading import UnitReader
from bigtopic.runtime.reduce import WINDOW, Tree, add
from bigtopic.runtime.rounds import Cursor
from bigtopic.runtime.slices import SUBTREE, Round, SliceRef
from bigtopic.types import Stats

__all__ = ["EXECUTOR", "GraphExecutor", "round_graph"]


class GraphExecutor(Executor):
    """Runs rounds on a Dask client, or under another Dask scheduler.

    Parameters
    ----------
    run : as for every executor
    client : a `dask.distributed.Client`, or None with `scheduler`
    scheduler : name of a Dask scheduler ("threads", "sync", ...) to use instead of a client
    """

    def __init__(self, run: Run, client: Any = None, *, scheduler: str | None = None) -> None:
        self._run = run
        self._client = client
        self._scheduler = scheduler
        self._sender = Sender(run, client)

    def advance(
        self,
        params: Params,
        cursor: Cursor,
        max_rounds: int | None = None,
        max_seconds: float | None = None,
        n_passes: int = 1,
    ) -> Progress:
        """See `Executor.advance`."""
        stretches = self._run.plan.stretches(cursor.epoch, cursor.round, cursor.ahead)
        settings = self._run.settings
        return by_stretches(stretches, settings, params, cursor, max_rounds, max_seconds, self._do)

    def _do(self, stretch: Stretch) -> None:
        do_rounds(stretch, self._run.plan.delay, self.map_reduce)

    def map_reduce(self, rnd: Round, arrays: Mapping[str, LazyArray | Overlay], turn: Turn) -> Stats:
        """The statistics of a round at these arrays: a graph per window of slices, two windows in flight."""

        def attempt() -> Stats:
            shared = self._sender.share(arrays)
            try:
                return self._reduce_windows(rnd, shared, turn)
            finally:
                if isinstance(shared, sharing.MappedArrays):
                    shared.remove()

        return self._sender.repeated(attempt)

    def _reduce_windows(self, rnd: Round, shared: Any, turn: Turn) -> Stats:
        tree = Tree()
        waiting: deque[Any] = deque()
        size = SUBTREE * WINDOW
        for first in range(0, len(rnd.slices), size):
            window = rnd.slices[first : first + size]
            graph = round_graph(self._sender.run(), window, shared, turn, name=self._sender.key("window")[1])
            if self._client is None:
                tree.push_window(graph.compute(scheduler=self._scheduler))
                continue
            waiting.append(self._client.compute(graph, retries=2))
            if len(waiting) == 2:
                tree.push_window(waiting.popleft().result())
        while waiting:
            tree.push_window(waiting.popleft().result())
        result = tree.result()
        assert result is not None
        return result

    def close(self) -> None:
        self._sender.close()


def round_graph(run: Any, slices: Sequence[SliceRef], shared: Any, turn: Turn, name: str) -> Any:
    """The graph of a window of slices: one task per subtree, added from left to right.

    Parameters
    ----------
    run : a `Run`, or a future of one
    slices : at most `SUBTREE` x `WINDOW` consecutive slices of a round
    shared : params as `sharing.publish` gives them, the arrays themselves, or a future of them
    turn : seed and epochs
    name : unique among the graphs of all clients, because Dask takes equal keys for the same task. Keys are
        ("bt-estep", name, i) and ("bt-add", name, i)

    Returns
    -------
    dask.delayed.Delayed
        Of `Stats`.
    """
    from dask import delayed

    estep = delayed(_subtree, pure=False)
    merge = delayed(add, pure=False)
    total = None
    for i, first in enumerate(range(0, len(slices), SUBTREE)):
        group = tuple(slices[first : first + SUBTREE])
        stats = estep(run, group, shared, turn, dask_key_name=("bt-estep", name, i))
        total = stats if total is None else merge(total, stats, dask_key_name=("bt-add", name, i))
    return total


def _subtree(run: Run, slices: Sequence[SliceRef], shared: Any, turn: Turn) -> Stats | None:
    reader = UnitReader(run.parts, ahead=0)
    return estep_group(slices, reader.block, sharing.load_arrays(shared), run.work, turn)


EXECUTOR = ExecutorSpec(lambda run, client, n_threads: GraphExecutor(run, client), on_client=True)
