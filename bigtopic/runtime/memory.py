"""Memory of a run, estimated before it starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import SettingError
from bigtopic.runtime import cluster
from bigtopic.runtime.executors.protocol import Run
from bigtopic.runtime.footprint import Footprint
from bigtopic.runtime.params import Params, padded

__all__ = ["check_memory", "check_params", "check_worker_memory", "estimate_bytes", "estimate_task_bytes"]

_AMPLE = 2  # a machine with so many times the rough estimate needs no finer one
# Control groups, version 2 and 1.
CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


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
    footprint, have = Footprint(run, params, axes), _total_bytes()
    if have is None or _AMPLE * footprint.on_threads(n_threads, compares, rough=True) < have:
        return  # nearly always, and quickly decided
    _refuse_beyond(
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


def check_params(n_rows: int, n_components: int, itemsize: int = 4) -> None:
    """Refuse params that cannot fit, before creating them.

    Raises
    ------
    SettingError
        When one array of (n_rows, n_components) is larger than the machine's memory.
    """
    _refuse_beyond(
        n_rows * padded(n_components) * itemsize,
        f"choose fewer topics (now {n_components}) or a smaller vocabulary (now {n_rows} words; see min_df and "
        "max_features of ingest, and Corpus.filter_vocabulary)",
    )


def _refuse_beyond(need: int, remedy: str) -> None:
    have = _total_bytes()
    if have is not None and need >= have:
        raise SettingError(
            f"this model needs about {need / 1e9:.1f} GB, but the machine has {have / 1e9:.1f} GB; {remedy}"
        )


def _total_bytes() -> int | None:
    """Memory of the machine, or of the container; None if the system does not report it."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
    return min([total, *_container_limits()])


def _container_limits() -> Iterator[int]:
    for path in CONTAINER_LIMITS:
        try:
            yield int(path.read_text())
        except (OSError, ValueError):  # not there, or "max"
            continue
