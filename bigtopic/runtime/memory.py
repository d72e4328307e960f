"""Memory of a run, known before it begins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from bigtopic.errors import SettingError
from bigtopic.runtime.executors.protocol import Run
from bigtopic.runtime.params import Params, padded
from bigtopic.runtime.slices import UNIT_ENTRIES

__all__ = ["check_memory", "check_params", "estimate_bytes"]

# Control groups, version 2 and 1.
CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def estimate_bytes(run: Run, params: Params, n_threads: int) -> int:
    """Bytes of a run in one process: slices in flight x (documents + 3 x rows x components x 4) + units + params."""
    plan = run.plan
    entries = plan.slice_size * plan.entries_per_doc
    rows = min(entries, params.axis_sizes().get("word", entries))
    columns = padded(run.work.hyper.n_components)
    per_slice = entries * 12 + 3 * rows * columns * 4
    minibatch_rows = plan.batch_size * plan.entries_per_doc
    minibatch_rows = min(minibatch_rows, params.axis_sizes().get("word", minibatch_rows))
    sums = 6 * minibatch_rows * columns * 4  # pending subtrees and running sums of the merge tree
    return int((n_threads + 2) * per_slice + sums + 4 * UNIT_ENTRIES * 8 + params.nbytes)


def check_memory(run: Run, params: Params, n_threads: int) -> None:
    """Refuse a run that cannot fit, naming the settings that would make it fit.

    Raises
    ------
    SettingError
        When the estimate is larger than the machine's memory.
    """
    _refuse_beyond(
        estimate_bytes(run, params, n_threads),
        f"choose a smaller batch_size (now {run.plan.batch_size}) or fewer topics "
        f"(now {run.work.hyper.n_components})",
    )


def check_params(n_rows: int, n_components: int, itemsize: int = 4) -> None:
    """Refuse params that cannot fit, before they are made.

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
            f"this model needs about {need / 1e9:.1f} GB, the machine has {have / 1e9:.1f} GB; {remedy}"
        )


def _total_bytes() -> int | None:
    """Memory of the machine, or of the container this runs in; None where the system does not say."""
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
