"""Events of a run, and what is measured while it goes on: the same, in the same order, for every executor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeGuard

from bigtopic.support.deprecations import renamed_attribute

if TYPE_CHECKING:
    from bigtopic.state.model import TopicModel

__all__ = ["Callback", "Event", "Watcher", "is_watcher"]


@dataclass(frozen=True)
class Event:
    """An event during learning.

    Attributes
    ----------
    kind : "start", "round" (one update), "score" (held-out documents were scored), "pass" (one pass over the corpus
        ended) or "end". Each phase of a method has a "start" and an "end" of its own
    step : updates of the phase so far
    pass_number : passes of the phase completed so far
    seconds : wall-clock time since the start
    n_docs, n_tokens : processed so far, over all passes of all phases
    score : held-out log probability in nats per token, if it was just computed
    bound : variational bound of the pass, in nats per token, if there is one
    change : how far topics moved during the pass, mean total variation distance in 0 .. 1, if it was computed
    reason : why the phase ended: "max_iter", "max_time", "tol", "score" or "interrupt". After "max_time" and
        "interrupt", no other phase begins
    disk_bytes : at the start, what the state of documents may take on the disk at once, if the method keeps it there
    disk_folder : at the start, where that is
    planned_tokens : at the start, tokens that the phase processes if nothing ends it before `max_iter`
    info : figures of the kernel, summed over the round
    phase : its name in a method of several, see `Method.then`; "" in others
    dashboard : at the start, the address of Dask's dashboard, if the run is on a client that has one
    """

    kind: str
    step: int
    pass_number: int
    seconds: float
    n_docs: int
    n_tokens: float
    score: float | None = None
    bound: float | None = None
    change: float | None = None
    reason: str | None = None
    disk_bytes: int | None = None
    disk_folder: str | None = None
    planned_tokens: float | None = None
    info: Mapping[str, float] = field(default_factory=dict)
    phase: str = ""
    dashboard: str | None = None

    epoch = renamed_attribute("epoch", "pass_number")


Callback = Callable[[Event], object]


class Watcher(Protocol):
    """A callback that measures the model while it learns; the history has what it finds. `evaluate.Watch` is one.

    Attributes
    ----------
    names : of the figures that it finds
    every : updates between its measurements, which are taken at the end of an exchange; None for one per pass
    """

    names: list[str]
    every: int | None

    def measure(self, model: TopicModel) -> Mapping[str, float | None]:
        """The figures by name; must not change the model."""

    def __call__(self, event: Event) -> object:
        """As of every callback."""


def is_watcher(callback: Callback) -> TypeGuard[Watcher]:
    """Whether a callback also measures the model."""
    return all(hasattr(callback, name) for name in ("measure", "names", "every"))
