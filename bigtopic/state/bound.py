"""The part of the variational bound that belongs to the global params (Hoffman et al. 2013, equation 11).

For each distribution with the Dirichlet prior eta and the weights w, whose sums over it are eta_0 and w_0:

    E[log p] - E[log q] = lgamma(eta_0) - lgamma(w_0)
                          + sum_i (eta_i - w_i) (psi(w_i) - psi(w_0)) + lgamma(w_i) - lgamma(eta_i)
"""

from __future__ import annotations

import numpy as np

from bigtopic.state import _kernels
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params

__all__ = ["global_part", "global_parts"]


def global_part(params: Params) -> float:
    """E_q[log p - log q], in nats, of all arrays that are sets of distributions with a prior."""
    return sum(global_parts(params).values())


def global_parts(params: Params) -> dict[str, float]:
    """The same of each of these arrays, by name."""
    parts = {"axis": _over_axis, "components": _over_components}
    return {
        name: parts[array.normalised_over](array)
        for name, array in params.arrays.items()
        if array.normalised_over is not None and array.prior.any()
    }


def _over_axis(array: LazyArray) -> float:
    from scipy.special import gammaln, psi

    totals = array.weight_totals()
    log_total = psi(totals)
    rows = sum(
        _kernels.axis_bound(array.raw, array.scale, array.prior, log_total, start, stop, array.n_components)
        for start, stop in array.blocks()
    )
    return float(rows + np.sum(gammaln(array.prior_totals) - gammaln(totals)))


def _over_components(array: LazyArray) -> float:
    """Each row is a distribution (an author's topics)."""
    from scipy.special import gammaln, psi

    n, total = array.n_components, 0.0
    for start, stop in array.blocks():
        rows = slice(start, stop) if array.prior.shape[0] > 1 else slice(None)
        prior = np.broadcast_to(array.prior[rows], (stop - start, n))
        weights = prior + array.raw[start:stop, :n] * array.scale[:n]
        sums, prior_sums = weights.sum(axis=1), prior.sum(axis=1)
        expected = psi(weights) - psi(sums)[:, None]
        total += float(np.sum((prior - weights) * expected + gammaln(weights) - gammaln(prior)))
        total += float(np.sum(gammaln(prior_sums) - gammaln(sums)))
    return total
