"""Memory of a run, known before it begins."""

from __future__ import annotations

import os

from bigtopic.errors import SettingError
from bigtopic.runtime.params import Params, padded
from bigtopic.runtime.slices import UNIT_ENTRIES
from bigtopic.runtime.threads import Run

__all__ = ["available_bytes", "check_memory", "estimate_bytes"]


def estimate_bytes(run: Run, params: Params, n_threads: int) -> int:
    """Bytes of a run in one process: slices in flight x (documents + 3 x rows x components x 4) + units + params."""
    plan = run.plan
    entries = plan.slice_size * plan.entries_per_doc
    rows = min(entries, params.axis_sizes()["word"])
    columns = padded(run.work.hyper.n_components)
    per_slice = entries * 12 + 3 * rows * columns * 4
    minibatch_rows = min(plan.batch_size * plan.entries_per_doc, params.axis_sizes()["word"])
    sums = 6 * minibatch_rows * columns * 4  # pending subtrees and running sums of the merge tree
    return int((n_threads + 2) * per_slice + sums + 4 * UNIT_ENTRIES * 8 + params.nbytes)


def available_bytes() -> int | None:
    """Memory that could be used now, or None where the system does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def check_memory(run: Run, params: Params, n_threads: int) -> None:
    """Refuse a run that cannot fit, naming the setting that would make it fit.

    Raises
    ------
    SettingError
        When the estimate is larger than all memory that is free or can be freed.
    """
    need, have = estimate_bytes(run, params, n_threads) - params.nbytes, _total_bytes()
    if have is None or need < have:
        return
    raise SettingError(
        f"this run needs about {need / 1e9:.1f} GB beside its params, the machine has {have / 1e9:.1f} GB; choose a "
        f"smaller batch_size (now {run.plan.batch_size}) or fewer topics (now {run.work.hyper.n_components})"
    )


def _total_bytes() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
