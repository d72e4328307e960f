"""Tasks: what an executor computes anywhere, any number of times, and adds along the merge tree.

A round is a task for each slice; their sum is its statistics. An exchange of replicas is a task for each share; their
sum is the changes. A task writes nothing but the state of its documents, for the next pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bigtopic.learning.documents import Documents
from bigtopic.learning.estep import evaluate
from bigtopic.learning.reduce import add
from bigtopic.learning.remembering import Remembering
from bigtopic.learning.replicas.changes import Changes, joined
from bigtopic.learning.replicas.share import Share, share_changes
from bigtopic.learning.run import Iteration, Run
from bigtopic.plan.slices import SliceRef
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Overlay
from bigtopic.types import Stats

__all__ = ["Place", "ShareTask", "SliceTask", "Task", "plus"]

Arrays = Mapping[str, LazyArray | Overlay]


@dataclass(frozen=True)
class Place:
    """What a task finds where it runs: documents, and what their kernel remembers of them."""

    run: Run
    documents: Documents
    remembering: Remembering


@dataclass(frozen=True)
class SliceTask:
    """The statistics of a slice in an inner iteration of its round."""

    ref: SliceRef
    iteration: Iteration

    @property
    def refs(self) -> Sequence[SliceRef]:
        """The slices that are read."""
        return (self.ref,)

    def prefetch(self, place: Place) -> None:
        """Begin to read what the task needs."""
        place.documents.prefetch(self.ref)
        place.remembering.prefetch(self.ref, self.iteration.pass_number)

    def compute(self, place: Place, arrays: Arrays) -> Stats:
        gathered = place.documents.gather(self.ref, arrays)
        return evaluate(self.ref, gathered, place.run.work, self.iteration, place.remembering)


@dataclass(frozen=True)
class ShareTask:
    """What a replica changes in an exchange. It remembers its documents by itself."""

    share: Share

    @property
    def refs(self) -> Sequence[SliceRef]:
        """The slices that are read."""
        return [ref for rnd in self.share.rounds for ref in rnd.slices]

    def prefetch(self, place: Place) -> None:
        """Begin to read what the task needs."""
        place.documents.prefetch(self.refs[0])

    def compute(self, place: Place, arrays: Any) -> Changes:
        return share_changes(place.run, self.share, place.documents.read, arrays)


Task = SliceTask | ShareTask


def plus(a: Any, b: Any) -> Any:
    """The sum of what two tasks of the same kind compute."""
    return joined(a, b) if isinstance(a, Changes) else add(a, b)
