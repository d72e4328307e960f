"""The part of the variational bound that belongs to the global params (Hoffman et al. 2013, equation 11)."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, psi

from bigtopic.runtime import _kernels
from bigtopic.runtime.params import LazyArray, Params

__all__ = ["global_part"]


def global_part(params: Params) -> float:
    """E_q[log p(topics) - log q(topics)], in nats, of every array that is a set of distributions over its axis."""
    return sum(_array(array) for array in params.arrays.values() if array.normalised_over == "axis")


def _array(array: LazyArray) -> float:
    totals = array.weight_totals()
    repeats = array.n_rows if array.prior.shape[0] == 1 else 1
    prior_totals = np.broadcast_to(array.prior.sum(axis=0) * repeats, totals.shape)
    log_total = psi(totals)
    rows = sum(
        _kernels.axis_bound(array.raw, array.scale, array.prior, log_total, start, stop, array.n_components)
        for start, stop in array.blocks()
    )
    return float(rows + np.sum(gammaln(prior_totals) - gammaln(totals)))
