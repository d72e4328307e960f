"""Weights move a step towards the estimate from a minibatch: stochastic approximation.

`Interpolate`: weights move a step towards what they would be if the whole corpus were like this minibatch.

    weights <- (1 - rho_t) weights + rho_t (prior + scale S),    rho_t = s (offset + t)^-decay

`scale` is (documents of the corpus) / (documents of the minibatch), or the same ratio of tokens. The prior is constant,
so moving the statistics alone is the same.

With a half-life of H documents, the step of a minibatch of n documents is at least 1 - r, r = 0.5^(n / H), and the
corpus counts at most H / log 2 documents, to which the weights r^j of all earlier minibatches add up. Once rho_t is
1 - r, statistics <- r statistics + S: a document weighs half as much after H documents, as where statistics are added.

References: Hoffman, Blei, Wang, Paisley (2013), "Stochastic variational inference", algorithm of figure 4 (by
documents); Foulds et al. (2013), "Stochastic collapsed variational Bayesian inference for LDA" (by tokens).

`InterpolateNormalised`: each topic moves a step towards the word frequencies it has in this minibatch: no size of
corpus, no prior.

    beta_k <- (1 - rho_t) beta_k + rho_t S_k / sum_v S_vk,    rho_t = s (offset + t)^-decay

A topic that received no mass stays where it is. The array may hold beta times any total T_k; T_k is kept (1
if the topic is still empty).

Reference: Than and Doan (2017), "Guaranteed inference in topic models", equation 21.

`InterpolateRaw`: statistics move a step towards their mean per document of the minibatch: no prior, and no size of the
corpus.

    S <- (1 - rho_t) S + rho_t S_batch / n_docs,    rho_t = s (offset + t)^-decay

It is the online expectation-maximisation of a model of the exponential family: topics are S divided by its totals, so
its scale does not matter. In double precision, because a word that a topic loses fades as the product of all 1 - rho.

References: Cappe and Moulines (2009), "On-line expectation-maximization algorithm for latent data models"; Dupuy and
Bach (2017), "Online but accurate inference for latent variable models with local Gibbs sampling".

`InterpolateRows`: the weights of each row that occurs in the minibatch move a step towards what they would be if all
documents of the row were like the minibatch's.

    weights_i <- (1 - rho_i) weights_i + rho_i (prior + (n_i / m_i) S_i),    rho_i = s (offset + t_i)^-decay

for the rows i of the minibatch: n_i and m_i are the documents of row i in the corpus and in the minibatch, and t_i is
the number of updates that the row has been in, this one included. With the number of all updates in its place, a row
that is rarely seen, such as the author of few documents, would hardly leave its random start.

References: Mortensen (2017), "The author-topic model", algorithm 2, one step size for all rows (`own_steps=False`);
Hoffman, Blei, Wang, Paisley (2013), "Stochastic variational inference".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.schemes.schedule import LearningRate, PlainStep, check, decaying_end
from bigtopic.support.numbers import is_number
from bigtopic.types import ArraySpec, AxisStats, MutableArray, RoundInfo

__all__ = ["FURTHER", "SCHEME", "Interpolate", "InterpolateNormalised", "InterpolateRaw", "InterpolateRows"]

SCALES = ("documents", "tokens")


@dataclass(frozen=True)
class Interpolate(PlainStep):
    """Stochastic natural-gradient step.

    Parameters
    ----------
    learning_decay, learning_offset, learning_scale, hold : the step size, see `schedule.LearningRate`
    scale : unit of the minibatch's share of the corpus: "documents" or "tokens"
    end : share of the run's updates, at its end, in which the step falls to the minibatch's share of the corpus; 0 for
        none. No effect on a stream, whose end is unknown
    stream_decay : `learning_decay` of a stream, where it should be larger because no end averages over the minibatches;
        None for the same

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    is_linear: ClassVar[bool] = True
    takes_half_life: ClassVar[bool] = True

    scale: str = "documents"
    end: float = 0.0
    stream_decay: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.stream_decay, self.learning_offset, of="stream")
        if self.scale not in SCALES:
            raise SettingError(f"scale={self.scale!r}: must be one of {', '.join(SCALES)}")
        if not is_number(self.end) or not 0.0 <= self.end <= 1.0:
            raise SettingError(f"end={self.end!r}: must be a share of the updates, from 0 to 1")

    def factors(self, info: RoundInfo) -> tuple[float, float]:
        """A minibatch of size 0 changes nothing."""
        if self.scale == "documents":
            size, total = float(info.n_docs), info.total_docs
        else:
            size, total = info.n_tokens, info.total_tokens
        if size == 0:
            return 0.0, 1.0
        known_end = self.stream_decay is None or info.n_steps is not None
        usual = self.schedule() if known_end else replace(self, learning_decay=self.stream_decay).schedule()
        schedule = decaying_end(usual, self.end, size / total) if self.end else usual
        rate = self.rate(info, schedule)
        return rate * total / size, 1.0 - rate


@dataclass(frozen=True)
class InterpolateNormalised(LearningRate):
    """Every topic takes the same step, however many tokens it has in the minibatch.

    Parameters
    ----------
    learning_decay, learning_offset, learning_scale, hold : the step size, see `schedule.LearningRate`

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    is_linear: ClassVar[bool] = True
    takes_half_life: ClassVar[bool] = True

    learning_decay: float | None = 0.9
    learning_offset: float = 1.0

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`."""
        rate = self.rate(info)
        mass = stats.totals()
        seen = mass > 0
        held = array.totals()
        target = np.where(held > 0, held, 1.0)
        weight = np.where(seen, rate * target / np.where(seen, mass, 1.0), 0.0)
        array.add(stats, weight=weight, decay=np.where(seen, 1.0 - rate, 1.0))


@dataclass(frozen=True)
class InterpolateRaw(PlainStep):
    """Every document counts alike, however large minibatch and corpus are.

    Parameters
    ----------
    learning_decay, learning_offset, learning_scale, hold : the step size, see `schedule.LearningRate`

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    learning_decay: float | None = 0.5
    learning_offset: float = 1.0
    dtype: ClassVar[str] = "float64"
    averages_documents: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True
    takes_half_life: ClassVar[bool] = True

    def factors(self, info: RoundInfo) -> tuple[float, float]:
        """A minibatch without documents changes nothing."""
        if info.n_docs == 0:
            return 0.0, 1.0
        rate = self.rate(info)
        return rate / info.n_docs, 1.0 - rate


@dataclass(frozen=True)
class InterpolateRows(LearningRate):
    """Stochastic natural-gradient step of rows that depend on their own documents alone.

    Parameters
    ----------
    learning_decay, learning_offset, learning_scale, hold : the step size, see `schedule.LearningRate`
    documents : the array that counts the documents n_i of each row, (n_rows, 1), and whose statistics count the
        documents m_i of the minibatch; the model has it, and the method a scheme for it
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
        scales: np.ndarray = np.divide(known, seen, out=np.zeros_like(seen), where=seen > 0)
        return scales


SCHEME = Interpolate
FURTHER = {
    "interpolate_normalised": InterpolateNormalised,
    "interpolate_raw": InterpolateRaw,
    "interpolate_rows": InterpolateRows,
}
