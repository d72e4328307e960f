"""Weights of each row seen move a step towards what they would be if all its documents were like the minibatch's.

    weights_i <- (1 - rho_i) weights_i + rho_i (prior + (n_i / m_i) S_i),    rho_i = s (offset + t_i)^-decay

for the rows i of the minibatch: n_i and m_i are the documents of row i in the corpus and in the minibatch, and t_i is
the number of updates that the row has been in, this one included. With the number of all updates in its place, a row
that is rarely seen, such as the author of few documents, would hardly leave its random start.

References: Mortensen (2017), "The author-topic model", algorithm 2, one step size for all rows (`own_steps=False`);
Hoffman, Blei, Wang, Paisley (2013), "Stochastic variational inference".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.schemes.schedule import LearningRate
from bigtopic.types import ArraySpec, AxisStats, MutableArray, RoundInfo

__all__ = ["SCHEME", "InterpolateRows"]


@dataclass(frozen=True)
class InterpolateRows(LearningRate):
    """Stochastic natural-gradient step of rows that only their own documents say something about.

    Parameters
    ----------
    learning_decay, learning_offset, learning_scale, hold : the step size, see `schedule.LearningRate`
    documents : the array that has the documents n_i of each row, (n_rows, 1), and whose statistics are those of the
        minibatch, m_i; the model has it, and the method a scheme for it
    own_steps : whether each row counts its own updates; otherwise all take the step size of the run, as in the paper

    Raises
    ------
    SettingError
        When a parameter is outside its range, or `documents` names no array.
    """

    companions: ClassVar = {"steps": ArraySpec("", columns=1, normalised_over=None, dtype="int32")}

    documents: str = "author_documents"
    own_steps: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.documents, str) or not self.documents:
            raise SettingError(
                f"documents={self.documents!r}: must be the name of the array that has the documents of each row; "
                "where every row has the minibatch's share of the corpus, use the scheme Interpolate"
            )

    @property
    def reads(self) -> tuple[str, ...]:
        """The arrays, with statistics, that a step reads beside its own."""
        return (self.documents,)

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`. A minibatch without documents changes nothing."""
        if info.n_docs == 0:
            return
        rates = self._rates(info.companions["steps"], stats, info)
        array.add(stats, row_weight=rates * self._scales(stats, info), row_decay=1.0 - rates)

    def _rates(self, steps: MutableArray, stats: AxisStats, info: RoundInfo) -> np.ndarray:
        """rho_i of each row, which is counted as updated."""
        if not self.own_steps:
            return np.full(len(stats.values), self.schedule()(info.step, info.n_steps))
        one = np.zeros((len(stats.values), steps.n_columns), np.int32)
        one[:, 0] = 1
        steps.add(AxisStats(stats.ids, one))
        counts, where = np.unique(steps.gather(stats.ids)[:, 0], return_inverse=True)
        schedule = self.schedule()
        return np.array([schedule(int(count), None) for count in counts])[where]

    def _scales(self, stats: AxisStats, info: RoundInfo) -> np.ndarray:
        """n_i / m_i."""
        assert info.stats is not None
        seen = info.stats.arrays[self.documents].values[:, 0].astype(np.float64)
        known = info.arrays[self.documents].gather(stats.ids)[:, 0].astype(np.float64)
        return np.divide(known, seen, out=np.zeros_like(seen), where=seen > 0)


SCHEME = InterpolateRows
