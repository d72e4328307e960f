"""What a kernel says of the memory that a call of it takes, from which that of a run is estimated before it begins."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["CallSize", "Scratch", "no_scratch"]


class CallSize(NamedTuple):
    """Approximate size of a kernel call.

    n_docs, n_entries, longest : documents; their distinct words, summed, and of the document with the most
    rows, columns : {array name: number in the view}; columns include padding
    n_components : as in `Hyper`
    n_tokens, longest_tokens : counts of the documents, summed, and of the document with the most
    statistics : the arrays whose statistics the call returns
    """

    n_docs: int
    n_entries: int
    longest: int
    rows: Mapping[str, int]
    columns: Mapping[str, int]
    n_components: int
    n_tokens: int = 0
    longest_tokens: int = 0
    statistics: Collection[str] = ()


class Scratch(NamedTuple):
    """Memory that a kernel call allocates besides documents, view, statistics and document state.

    pooled, derived : bytes of each large array from `buffers`, of a call and of `Kernel.derives`; a kernel with pooled
        arrays, or with document state, takes its statistics from there too
    transient : peak bytes allocated elsewhere; without either, freed before the statistics are allocated
    """

    pooled: Sequence[int] = ()
    transient: int = 0
    derived: Sequence[int] = ()


def no_scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """Of a kernel that allocates only its results."""
    return Scratch()
