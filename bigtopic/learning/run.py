"""A run: everything that stays the same from its first round to its last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import finalize

import numpy as np

from bigtopic.learning import sharing
from bigtopic.plan.slices import Plan
from bigtopic.schemes import is_linear
from bigtopic.state.documents.state_files import StateFiles
from bigtopic.types import Hyper, Kernel, Scheme

__all__ = ["Iteration", "Run", "Settings", "Work"]


@dataclass(frozen=True)
class Settings:
    """What a round needs to know about the method and the corpus.

    Attributes
    ----------
    schemes : {array name: its scheme}
    prior_schemes : {array name: the scheme that learns its prior}
    seed : seed of the run
    total_docs, total_tokens : of the corpus, or the declared size of a stream
    inner : inner iterations per round, or a rule `(inner iteration from 1, info of its statistics) -> continue?`
    n_steps : total number of updates of the run; None if unknown
    average : share of the updates, at the end, over which arrays are averaged, at least one where it is above 0; all
        updates where `n_steps` is unknown
    largest_step : of a scheme whose step sizes fall; 1 unless replicas share the updates
    burn_in : first inner iterations of a round after which the params stay as they are
    asynchronous : whether minibatches move the params whenever they are done, see `learning.pushes`
    staleness : updates that a minibatch may miss then, at most; None for no bound
    half_life : documents after which a document weighs half as much; None to forget as the schemes say
    later_phase : whether the arrays, and their means, began with the topics of another phase
    """

    schemes: Mapping[str, Scheme]
    seed: int
    total_docs: float
    total_tokens: float
    inner: int | Callable[[int, Mapping[str, float]], bool] = 1
    n_steps: int | None = None
    prior_schemes: Mapping[str, Scheme] = field(default_factory=dict)
    average: float = 0.0
    largest_step: float = 1.0
    burn_in: int = 0
    asynchronous: bool = False
    staleness: int | None = None
    half_life: float | None = None
    later_phase: bool = False

    def retained(self, n_docs: int, largest_step: float) -> float | None:
        """The share of what was learned that an update of so many documents leaves; see `RoundInfo`."""
        return None if self.half_life is None else max(0.5 ** (n_docs / self.half_life), 1.0 - largest_step)

    @property
    def one_iteration(self) -> bool:
        """Whether a round is one inner iteration, with nothing provisional."""
        return self.inner == 1

    @property
    def is_linear(self) -> bool:
        """Whether the changes that rounds make to the same params can be added; see `Scheme.is_linear`."""
        return all(map(is_linear, self.schemes.values()))

    def averages(self, step: int) -> bool:
        """Whether the arrays after update `step` = 1, 2, ... belong to their means."""
        return self.average > 0 and step >= self._first_averaged

    @property
    def first_estimate(self) -> int:
        """The update from which on those who read the model get what the phase has learned; before it they get what the
        means of a later phase begin with."""
        return self._first_averaged if self.later_phase and self.average else 0

    @property
    def _first_averaged(self) -> int:
        return 1 if self.n_steps is None else 1 + self.n_steps - max(1, round(self.average * self.n_steps))


@dataclass(frozen=True)
class Work:
    """What every task of a run needs; small, and the same for all of them.

    Attributes
    ----------
    kernel, hyper : the algorithm and its settings, except those that are in the params
    n_words, n_authors : sizes of the corpus' axes
    id_maps : {axis: the params' id of each id of the corpus (-1 unknown), or None when they agree}
    state : the files of document state that lives as long as the run, or None
    n_candidates : topics that an entry has statistics of, at most, where params have sparse rows; None elsewhere
    """

    kernel: Kernel
    hyper: Hyper
    n_words: int
    n_authors: int = 0
    id_maps: Mapping[str, np.ndarray | None] = field(default_factory=dict)
    state: StateFiles | None = None
    n_candidates: int | None = None


@dataclass(frozen=True)
class Iteration:
    """The inner iteration of the run that a task belongs to, and its seed.

    Attributes
    ----------
    seed : seed of the pass; the inner iterations of a round share it
    step : the update that the inner iteration is for, from 1
    number : number of the inner iteration in its round, from 1
    pass_number : the pass, from 0
    """

    seed: int
    step: int = 0
    number: int = 1
    pass_number: int = 0


@dataclass(frozen=True)
class Run:
    """Everything that stays the same during a run; picklable.

    On a Dask worker, a copy lives as long as the run: until the driver, or Dask for a driver that is gone, releases it,
    and its last task ends. Then the worker returns its unused memory to the system. A task could not do this, because
    Dask sends no task to a worker that is paused because of that memory. So tasks that use `buffers` take the run.

    Attributes
    ----------
    parts : of the corpus, in order
    plan : which documents make up each round
    work : what every task needs
    settings : what a step needs
    """

    parts: Sequence[Any]
    plan: Plan
    work: Work
    settings: Settings

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        finalize(self, sharing.give_back).atexit = False
