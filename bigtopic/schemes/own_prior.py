"""The prior of an array moves towards its maximum-likelihood value given the array's own distributions.

`OwnPrior`, of an array whose columns are distributions:

    eta <- eta + rho_t (Newton's step at t)

Each column k of the array is a distribution over its axis, E[log beta_kv] = psi(weights_kv) - psi(sum_v weights_kv)
with weights = eta_v + statistics. A symmetric eta is one number, and t the mean over v and k; an asymmetric one has a
number for each row v of the axis, and t_v is the mean over k. `dirichlet` has the step.

The mean over the axis would cost the whole vocabulary in every update. A minibatch takes it over as many rows, drawn at
random, as it has itself, at most `_ROWS`; only where it is the whole corpus, over all. An asymmetric prior needs all
rows, and moves once a pass, by the share of a step that the updates of the pass would have taken one after another.

A few topics are few draws for a number per word: once topics are alike, an ever larger prior makes them likelier, and
keeps them alike. The means of an asymmetric prior are therefore shrunk towards their own mean, which is the mean of the
symmetric prior,

    t_v <- (1 - s) t_v + s mean_v t_v,    s = `shrinkage`

as if s K / (1 - s) further topics had been drawn from the symmetric prior: a conjugate prior of eta.

References: Blei, Ng, Jordan (2003), appendix A.4.2; Wallach, Mimno, McCallum (2009), "Rethinking LDA: why priors
matter".

`OwnRowPrior`, of an array whose rows are distributions:

    alpha <- alpha + rho_t (Newton's step at t)

Each row i of the array, such as an author, is a distribution over its columns with the prior alpha, and t_k is the mean
over rows of E[log theta_ik] = psi(weights_ik) - psi(sum_k weights_ik), weights = alpha + statistics. Every row counts
once, however many documents it has. `dirichlet` has the step.

The mean over the axis would cost all rows in every update. A minibatch takes it over as many rows, drawn at random, as
it has itself; only where it is the whole corpus, over all.

References: Blei, Ng, Jordan (2003), appendix A.4.2; Mortensen (2017), "The author-topic model", section 2.6, where a
sign of the gradient is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.schemes.dirichlet import LearnedPrior, newton_step
from bigtopic.support.numbers import is_number
from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = ["FURTHER", "SCHEME", "OwnPrior", "OwnRowPrior", "sampled_rows"]

_ROWS = 4096  # at once


@dataclass(frozen=True)
class OwnPrior(LearnedPrior):
    """One step of Newton's method, after the step of the array itself.

    Parameters
    ----------
    shape, learning_decay, learning_offset, learning_scale, hold, begin : see `LearnedPrior`
    shrinkage : of an asymmetric prior, from 0, maximum likelihood, to 1, the maximum-likelihood symmetric prior. One
        half has the weight of as many further topics as there are

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    sets_prior: ClassVar[bool] = True

    shrinkage: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.shrinkage) or not 0.0 <= self.shrinkage <= 1.0:
            raise SettingError(f"shrinkage={self.shrinkage!r}: must be between 0 and 1")

    @property
    def unread(self) -> Mapping[str, str]:
        """Settings that others turn off: {name: why}."""
        if self.shape == "asymmetric":
            return super().unread
        return {**super().unread, "shrinkage": f"shape is {self.shape!r}, which learns one number"}

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs at most `_ROWS` rows; asymmetric, the axis once a pass. Nothing while the prior rests."""
        if self.rests(info):
            return
        if self.shape == "asymmetric":
            self._move_each(array, info)
            return
        logs = [_mean_logs(array, ids) for ids in sampled_rows(array, stats, info)]
        prior, mean_log = array.prior.mean().reshape(1), np.concatenate(logs).mean(keepdims=True)
        moved = newton_step(prior, mean_log, repeats=array.n_rows)
        share = self.share(info)
        array.set_prior((prior + share * (moved - prior)).reshape(1, 1))

    def _move_each(self, array: MutableArray, info: RoundInfo) -> None:
        updates = max(1, round(info.total_docs / info.n_docs))
        if info.step % updates:
            return
        logs = np.concatenate([_mean_logs(array, ids) for ids in _all_rows(array)])
        logs += self.shrinkage * (logs.mean() - logs)
        prior = np.broadcast_to(array.prior[:, 0], array.n_rows).astype(np.float64)
        rest = [1.0 - self.share(info._replace(step=info.step - i)) for i in range(updates)]
        array.set_prior((prior + (1.0 - np.prod(rest)) * (newton_step(prior, logs) - prior))[:, None])


def sampled_rows(array: MutableArray, stats: AxisStats, info: RoundInfo) -> Iterator[np.ndarray]:
    """Row ids, in blocks: all of them, or for a minibatch some."""
    if info.n_docs >= info.total_docs:
        yield from _all_rows(array)
        return
    n = array.n_rows if stats.ids is None else len(stats.ids)
    generator = np.random.default_rng([info.seed, info.step])
    yield generator.integers(array.n_rows, size=min(max(n, 1), _ROWS)).astype(np.int32)


def _all_rows(array: MutableArray) -> Iterator[np.ndarray]:
    for start in range(0, array.n_rows, _ROWS):
        yield np.arange(start, min(start + _ROWS, array.n_rows), dtype=np.int32)


def _mean_logs(array: MutableArray, ids: np.ndarray) -> np.ndarray:
    """The mean over columns of E[log beta] in these rows, (n_ids,)."""
    from scipy.special import psi

    n = array.n_components
    repeats = array.n_rows if array.prior.shape[0] == 1 else 1
    totals = array.totals()[:n] + repeats * array.prior.sum(axis=0)
    weights = array.gather(ids)[:, :n].astype(np.float64)
    means: np.ndarray = psi(weights).mean(axis=1) - psi(totals).mean()
    return means


@dataclass(frozen=True)
class OwnRowPrior(LearnedPrior):
    """One step of Newton's method, after the step of the array itself.

    Parameters
    ----------
    learning_decay, learning_offset, learning_scale, hold, begin : see `LearnedPrior`
    shape : "symmetric" for one number, "asymmetric" for one per column
    same : another array that has the same prior, or ""
    """

    sets_prior: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True
    names_arrays: ClassVar[tuple[str, ...]] = ("same",)

    same: str = ""

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs as many rows as `stats` has, or, where the minibatch is the whole corpus, the axis; nothing while the
        prior rests."""
        if self.rests(info):
            return
        sums = [_sum_of_logs(array, ids) for ids in sampled_rows(array, stats, info)]
        n_rows = sum(n for _, n in sums)
        logs = np.sum([one for one, _ in sums], axis=0) / n_rows
        prior = np.broadcast_to(array.prior.mean(axis=0), array.n_components)
        moved = self.updated(prior, logs)
        after = np.ascontiguousarray((prior + self.share(info) * (moved - prior))[None, :])
        array.set_prior(after)
        if self.same:
            info.arrays[self.same].set_prior(after)


def _sum_of_logs(array: MutableArray, ids: np.ndarray) -> tuple[np.ndarray, int]:
    """The sum over these rows of E[log theta], (n_components,), and their number."""
    from scipy.special import psi

    weights = array.gather(ids)[:, : array.n_components].astype(np.float64)
    logs = psi(weights) - psi(weights.sum(axis=1, keepdims=True))
    return logs.sum(axis=0), len(ids)


SCHEME = OwnPrior
FURTHER = {"own_row_prior": OwnRowPrior}
