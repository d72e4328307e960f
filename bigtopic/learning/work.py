"""The inputs of a task besides its documents and the params."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bigtopic.state.documents.state_files import StateFiles
from bigtopic.types import Hyper, Kernel

__all__ = ["Iteration", "Work"]


@dataclass(frozen=True)
class Work:
    """What every task of a run needs; small, and the same for all of them.

    Attributes
    ----------
    kernel, hyper : the algorithm and its settings, except those that are in the params
    n_words, n_authors : sizes of the corpus' axes
    id_maps : {axis: the params' id of each id of the corpus (-1 unknown), or None when they agree}
    state : the files of document state that lives as long as the run, or None
    """

    kernel: Kernel
    hyper: Hyper
    n_words: int
    n_authors: int = 0
    id_maps: Mapping[str, np.ndarray | None] = field(default_factory=dict)
    state: StateFiles | None = None


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
