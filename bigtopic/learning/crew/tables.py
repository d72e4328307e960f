"""The tables that the threads of a crew share; `columns` names their columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Tables"]


class Tables(NamedTuple):
    """What the threads of a crew share.

    counters : int64 (N_COUNTERS,)
    slices : int64 (n_slices, N_SLICE), those of the segment first
    groups : int64 (n_groups, N_GROUP), likewise
    figures : float64 (n_slices, 1 + number of the kernel's figures), the tokens of each slice first
    sums : float64 (n_slices, n_columns), of statistics; those of a round are in its first slice
    gates : int64 (1 + n_threads,), addresses of locks: of the tables, and of each thread
    asleep : int64 (n_threads,), whether a thread waits
    to_wake : int64 (1 + n_threads, n_threads), scratch memory: the threads that each one wakes; the last row is for
        `stop`
    own : int64 (n_threads,), the slice that a thread has taken and not begun to gather, or `NONE`
    places : int64 (n_threads, PLACES), scratch memory of each thread for additions
    raw : float32 (n_rows, n_columns), the params that the kernel reads
    known : the params' id of each id of the corpus, or nothing where they agree
    prior, options : of the kernel, see `kernels.support.slice_loop`
    n_parts : into which additions are divided, a power of two
    """

    counters: np.ndarray
    slices: np.ndarray
    groups: np.ndarray
    figures: np.ndarray
    sums: np.ndarray
    gates: np.ndarray
    asleep: np.ndarray
    to_wake: np.ndarray
    own: np.ndarray
    places: np.ndarray
    raw: np.ndarray
    known: np.ndarray
    prior: np.ndarray
    options: np.ndarray
    n_parts: int
