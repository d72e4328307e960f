"""Memory of a run, estimated before it starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import SettingError
from bigtopic.runtime import cluster, machine_memory
from bigtopic.runtime.executors.protocol import Run
from bigtopic.runtime.footprint import Footprint
from bigtopic.runtime.params import Params

__all__ = ["check_memory", "check_worker_memory", "estimate_bytes", "estimate_task_bytes"]

_AMPLE = 2  # a machine with so many times the rough estimate needs no finer one


def estimate_bytes(
    run: Run, params: Params, axes: Mapping[str, Vocabulary], n_threads: int, *, compares: bool = False
) -> int:
    """Bytes of a run on threads of one process, its params included; see `footprint` for the equations.

    Parameters
    ----------
    axes : axes of the model, with document frequencies
    compares : whether the topics at the start of a pass are kept, to compare them with those at its end
    """
    return Footprint(run, params, axes).on_threads(n_threads, compares)


def estimate_task_bytes(run: Run, params: Params, axes: Mapping[str, Vocabulary]) -> int:
    """Bytes of one task of a graph on a worker, without the params; for the arguments see `estimate_bytes`."""
    return Footprint(run, params, axes).of_task()


def check_memory(
    run: Run, params: Params, axes: Mapping[str, Vocabulary], n_threads: int, *, compares: bool = False
) -> None:
    """Refuse a run that cannot fit; the error names settings to change. For the arguments see `estimate_bytes`.

    Raises
    ------
    SettingError
        When the estimate is larger than the machine's memory.
    """
    footprint, have = Footprint(run, params, axes), machine_memory.total_bytes()
    if have is None or _AMPLE * footprint.on_threads(n_threads, compares, rough=True) < have:
        return  # nearly always, and quickly decided
    machine_memory.refuse_beyond(
        footprint.on_threads(n_threads, compares),
        f"choose a smaller batch_size (now {run.plan.batch_size}), fewer topics (now {run.work.hyper.n_components}) "
        f"or fewer threads (now {n_threads})",
    )


def check_worker_memory(
    run: Run,
    params: Params,
    axes: Mapping[str, Vocabulary],
    client: Any,
    worker_bytes: Callable[[Footprint, Any, int], int],
) -> None:
    """Refuse a run that a worker of a Dask client cannot hold, naming the worker, and the settings that would make it
    fit.

    Parameters
    ----------
    run, params, axes : as for `estimate_bytes`
    worker_bytes : of the executor (`ExecutorSpec`)

    Raises
    ------
    SettingError
        When the estimate for a worker is larger than its memory limit.
    """
    need = cache(partial(worker_bytes, Footprint(run, params, axes), client))
    for worker, (n_threads, have) in cluster.memory_limits(client).items():
        if need(n_threads) >= have:
            raise SettingError(
                f"worker {worker} has {have / 1e9:.2f} GB, and its tasks for this model need about "
                f"{need(n_threads) / 1e9:.2f} GB; choose a smaller batch_size (now {run.plan.batch_size}) or "
                f"slice_size (now {run.plan.slice_size}), fewer topics (now {run.work.hyper.n_components}), or workers "
                f"with fewer threads (now {n_threads}) or a larger memory_limit"
            )
