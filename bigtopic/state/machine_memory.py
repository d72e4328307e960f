"""The memory of this machine or container, and the refusal of params that cannot fit."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bigtopic.errors import SettingError, either
from bigtopic.state.lazy_array import padded

__all__ = ["check_params", "refuse_beyond", "total_bytes"]

# Control groups, version 2 and 1.
CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_OPTIONS = "--min-df and --max-features of 'bigtopic ingest'"


def check_params(
    n_rows: int, n_components: int, itemsize: int = 4, more: Callable[[], str] = lambda: ""
) -> None:
    """Refuse params that cannot fit, before creating them; `more` returns a remedy besides the usual ones.

    Raises
    ------
    SettingError
        When one array of (n_rows, n_components) is larger than the machine's memory.
    """
    refuse_beyond(
        n_rows * padded(n_components) * itemsize,
        lambda: (
            f"choose fewer topics (now {n_components}) or a smaller vocabulary (now {n_rows} words; see "
            f"{either('min_df and max_features of ingest, and Corpus.filter_vocabulary', _OPTIONS)}){more()}"
        ),
    )


def refuse_beyond(need: int, remedy: str | Callable[[], str], what: str = "this model needs") -> None:
    """Refuse what needs more bytes than the machine has. Raises SettingError, which ends with the remedy, or with what
    it returns."""
    have = total_bytes()
    if have is not None and need >= have:
        raise SettingError(
            f"{what} about {need / 1e9:.1f} GB, but the machine has {have / 1e9:.1f} GB; "
            f"{remedy if isinstance(remedy, str) else remedy()}"
        )


def total_bytes() -> int | None:
    """Memory of the machine, or of the container; None if the system does not report it."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
    limits = [total]
    for path in CONTAINER_LIMITS:
        with suppress(OSError, ValueError):  # not there, or "max"
            limits.append(int(path.read_text()))
    return min(limits)
