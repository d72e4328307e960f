"""What float32 inner loops cost: the same learning with kernels in float64 scores the same."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bigtopic import methods as table
from bigtopic.estimators.lda import LDA
from bigtopic.types import View

sys.path.insert(0, str(Path(__file__).parents[1]))

from conformance.test_methods import CHEAPER

NATS = 1e-3  # per token: what single precision may cost


def in_double(method):
    """The method with its kernel computing in float64."""
    kernel = method.load_kernel()

    def run(docs, view, hyper, seed, state):
        arrays = {name: rows.astype(np.float64) for name, rows in view.arrays.items()}
        return kernel.run(docs, View(arrays, view.totals), hyper, seed, state)

    return replace(method, kernel=replace(kernel, run=run, dtype="float64"))


@pytest.mark.parametrize("name", table.names())
def test_single_precision_costs_less_than_a_thousandth_of_a_nat(name, corpus):
    if table.get(name).load_kernel().dtype == "float64":
        pytest.skip("counts in double precision anyway")
    train, test = corpus.split(test_size=0.25, random_state=0)
    settings = {"max_iter": 3, "client": False, "n_threads": 1, "random_state": 0}
    settings |= CHEAPER.get(name, {})
    single = LDA(4, method=name, **settings).fit(train)
    double = LDA(4, method=in_double(table.get(name)), **settings).fit(train)
    assert not np.array_equal(single.components_, double.components_)
    assert abs(single.score(test) - double.score(test)) < NATS
