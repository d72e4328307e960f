"""Copies of the params that stay on workers, and follow the driver's from one exchange of replicas to the next.

A worker that has the params x of an exchange, and the sum of the changes of all its replicas, can compute the params
after it: the same additions in the same order give the same bits. So a worker gets the params once, and then only
changes, from other workers. Each task names the version that it needs, and a worker that does not have it says so.

Cost: the params once more while a copy moves, since a task that was given up may still read the old ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from sys import getsizeof
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

from bigtopic.errors import ClusterError
from bigtopic.learning.executors.protocol import Run
from bigtopic.learning.replicas import Changes, add_changes
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params

__all__ = ["Behind", "Copy", "Version", "after", "arrays_of", "hold", "move", "version_of"]

Arrays = Mapping[str, LazyArray]

_copies: WeakValueDictionary[str, Copy] = WeakValueDictionary()
_one_at_a_time = Lock()


@dataclass(frozen=True)
class Version:
    """Params of which workers have copies.

    name : of the copies; the params of two runs never have the same
    n_updates : that the params have had
    """

    name: str
    n_updates: int


@dataclass(eq=False)
class Copy:
    """The copy of a worker, which has it as long as the driver holds the future of it.

    It leaves its worker without arrays: if Dask moves or spills it, it is lost, since tasks do not find it there.
    """

    version: Version
    arrays: Arrays

    def __sizeof__(self) -> int:
        return sum(getsizeof(array.raw) + getsizeof(array.prior) for array in self.arrays.values())

    def __reduce__(self) -> tuple[Any, ...]:
        return Copy, (self.version, {})


class Behind(ClusterError):
    """A worker does not have this version of the params: it has joined after the others got it, or has lost it."""


def hold(version: Version, arrays: Arrays) -> Copy:
    """Make the copy of this worker, which tasks find by its name; the same one if it is there."""
    with _one_at_a_time:
        copy = _copies.get(version.name)
        if copy is None or copy.version != version:
            # Of a worker in the driver's process, these are the arrays that the driver moves
            copy = _copies[version.name] = Copy(version, {n: array.copy() for n, array in arrays.items()})
        return copy


def version_of(copy: Copy) -> Version:
    """What travels in place of a copy to say that it is there."""
    return copy.version


def arrays_of(version: Version) -> Arrays:
    """The arrays of a version; they stay as they are.

    Raises
    ------
    Behind
        When this worker does not have it.
    """
    with _one_at_a_time:
        copy = _copies.get(version.name)
        if copy is None or copy.version != version:
            raise Behind(f"a worker does not have the params after update {version.n_updates}")
        return copy.arrays


def move(run: Run, version: Version, changes: Changes) -> None:
    """Add what all replicas changed in a version to the copy of this worker; nothing to do where it has another."""
    with _one_at_a_time:
        copy = _copies.get(version.name)
        if copy is None or copy.version != version:
            return
        params = Params({n: a.copy() if n in changes.rows else a for n, a in copy.arrays.items()})
        add_changes(params, changes, replace(run.settings, average=0.0))
        copy.version, copy.arrays = after(version, changes), params.arrays


def after(version: Version, changes: Changes) -> Version:
    """The version that these changes lead to."""
    return replace(version, n_updates=version.n_updates + len(changes.reports))
