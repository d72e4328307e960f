"""Copies of the params that stay on workers, and follow the driver's from one update to the next.

A worker that has the params x of a long round, and its statistics, can compute the params after it: the same operations
in the same order give the same bits. Likewise with what all replicas change in an exchange. So a worker gets the
params once, and then only rows to add, from other workers. Each task names the version that it needs; a worker that
does not have it, and will not have it, says so.

Cost: the params once more while a copy moves, since a task that was given up may still read the old ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from sys import getsizeof
from threading import Condition
from typing import Any
from weakref import WeakValueDictionary

from bigtopic.errors import ClusterError
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params

__all__ = [
    "Behind",
    "Copy",
    "Version",
    "after",
    "arrays_in_turn",
    "begin_move",
    "end_move",
    "hold",
    "keep_ahead",
    "lose",
    "take_ahead",
]

Arrays = Mapping[str, LazyArray]

_copies: WeakValueDictionary[str, Copy] = WeakValueDictionary()
START_SECONDS = 3.0  # in which a worker begins a task that it has
_changed = Condition()
_at_work: list[Version] = []  # of each task that takes part in the collective of a version


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

    Attributes
    ----------
    is_moving : whether a task moves it
    ahead : what has been prepared for tasks of the next version, see `keep_ahead`
    """

    version: Version
    arrays: Arrays
    is_moving: bool = False
    ahead: dict[Hashable, Any] = field(default_factory=dict)

    def __sizeof__(self) -> int:
        return sum(getsizeof(array.raw) + getsizeof(array.prior) for array in self.arrays.values())

    def __reduce__(self) -> tuple[Any, ...]:
        return Copy, (self.version, {})


class Behind(ClusterError):
    """A worker cannot take part: it, or another worker, is gone or lacks this version of the params."""


def hold(version: Version, arrays: Arrays) -> Copy:
    """Make the copy of this worker, which tasks find by its name; the same one if it is there."""
    with _changed:
        copy = _copies.get(version.name)
        if copy is None or copy.version != version:
            # Of a worker in the driver's process, these are the arrays that the driver moves
            copy = _copies[version.name] = Copy(version, {n: array.copy() for n, array in arrays.items()})
        return copy


@contextmanager
def arrays_in_turn(version: Version, step_aside: Callable[[], None]) -> Iterator[Arrays]:
    """The arrays of a version, which stay as they are, once tasks of this worker have moved its copy to it.

    Parameters
    ----------
    step_aside : lets another task begin in place of this one

    Raises
    ------
    Behind
        When this worker does not have it, and no such task is at work.
    """
    with _changed:
        _at_work.append(version)
        try:
            if _is_earlier(version):
                # The task that moves the copy may wait for this one, or be on another worker of this process
                step_aside()
                _changed.wait_for(lambda: not _is_earlier(version) or _will_come(version), START_SECONDS)
            _changed.wait_for(lambda: not _will_come(version))
            arrays = _arrays_of(version)
        except BaseException:
            _leave(version)
            raise
    try:
        yield arrays
    finally:
        with _changed:
            _leave(version)


def _will_come(version: Version) -> bool:
    """Whether a task at work will move the copy, which is not at this version yet."""
    return _is_earlier(version) and any(_leads_to(one, version) for one in _at_work)


def _is_earlier(version: Version) -> bool:
    copy = _copies.get(version.name)
    return copy is not None and _leads_to(copy.version, version)


def _leads_to(one: Version, version: Version) -> bool:
    return one.name == version.name and one.n_updates < version.n_updates


def _leave(version: Version) -> None:
    _at_work.remove(version)
    _changed.notify_all()


def _arrays_of(version: Version) -> Arrays:
    copy = _copies.get(version.name)
    if copy is None or copy.version != version:
        raise Behind(f"a worker does not have the params after update {version.n_updates}")
    return copy.arrays


def lose(version: Version) -> None:
    """Give up the copy of this worker, so that no task waits for a later version."""
    with _changed:
        _copies.pop(version.name, None)
        _changed.notify_all()


def begin_move(version: Version, names: Collection[str]) -> Params | None:
    """The params of a version, to be changed and given to `end_move`; None where this worker has another version, or
    another task moves it: workers of one process have a copy together.

    Parameters
    ----------
    names : the arrays that may be changed in place
    """
    with _changed:
        copy = _copies.get(version.name)
        if copy is None or copy.version != version or copy.is_moving:
            return None
        copy.is_moving = True
    return Params({n: a.copy() if n in names else a for n, a in copy.arrays.items()})


def end_move(version: Version, params: Params, n_updates: int) -> None:
    """The copy of this worker is moved from a version on by `n_updates` updates, to these params."""
    with _changed:
        copy = _copies.get(version.name)
        if copy is None or copy.version != version:
            return
        copy.version, copy.arrays, copy.is_moving = after(version, n_updates), params.arrays, False
        copy.ahead.clear()  # what no task took
        _changed.notify_all()


def keep_ahead(version: Version, name: Hashable, prepared: Any) -> None:
    """Keep what a task has prepared for one that will need this version, if the copy of this worker is there."""
    with _changed:
        copy = _copies.get(version.name)
        if copy is not None and copy.version == version:
            copy.ahead[name] = prepared


def take_ahead(version: Version, name: Hashable) -> Any:
    """What was kept for a task by this name; None if nothing was. What no task takes is let go when the copy moves."""
    with _changed:
        copy = _copies.get(version.name)
        return None if copy is None else copy.ahead.pop(name, None)


def after(version: Version, n_updates: int) -> Version:
    """The version that so many more updates lead to."""
    return replace(version, n_updates=version.n_updates + n_updates)
