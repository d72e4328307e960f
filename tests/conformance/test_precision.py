"""What float32 inner loops cost: kernels, and learning with them, score the same in float64.

Where topics are drawn, or steps of a walk are, a rounding error may change a choice and all that follow it: there,
means over seeds are compared.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic import methods as table
from bigtopic.estimators.lda import LDA
from bigtopic.types import View

sys.path.insert(0, str(Path(__file__).parents[1]))

from conformance.test_methods import CHEAPER
from conformance.test_methods import METHODS as ALL
from reference import case

NATS = 1e-3  # per token: what single precision may cost
NATS_OF_A_CALL = 1e-5  # likewise, before rounding errors pile up over updates
NATS_OF_MEANS = 5e-3  # likewise, of means over seeds
SEEDS = range(10)
N_WORDS, N_COMPONENTS = 500, 30


def chooses(kernel):
    """Whether numbers decide between topics."""
    return ".sampling." in kernel.run.__module__ or kernel.name == "ope"


KERNELS = {name: kernels.load(name) for name in case.of_lda(kernels.names())}
METHODS = {method.name: method.load_kernel() for method in ALL}
SINGLE = {name: kernel for name, kernel in METHODS.items() if kernel.dtype == "float32"}


def smooth(found):
    return [name for name, kernel in found.items() if not chooses(kernel)]


def choosing(found):
    return [name for name, kernel in found.items() if chooses(kernel)]


def close_on_average(single, double):
    """Check scores, one per seed, against each other."""
    error = np.sqrt((np.var(single, ddof=1) + np.var(double, ddof=1)) / len(single))
    assert error > 0
    assert abs(np.mean(single) - np.mean(double)) < min(2 * error, NATS_OF_MEANS)


def nats(kernel, dtype, seed):
    """Per token, of documents under the topics that the kernel finds for them."""
    rng, topic_words = np.random.default_rng(3), case.topics(N_WORDS, N_COMPONENTS, concentration=0.1)
    docs = case.documents(list(rng.integers(5, 80, size=60)), N_WORDS)
    counted = {"counts", "stored"} & set(kernel.views.values())
    rows = topic_words * docs.counts.sum() if counted else topic_words
    told = case.hyper(kernel, case.accepted(kernel, 0.1), N_COMPONENTS, N_WORDS)
    found = kernel.run(docs, case.view(kernel, rows, dtype), told, seed, None).doc_topics
    of_docs = np.repeat(found.astype(np.float64), np.diff(docs.indptr), axis=0)
    each = np.log((of_docs * topic_words[docs.words]).sum(axis=1))
    return float(docs.counts @ each / docs.counts.sum())


def score(method, corpus, seed=0):
    """Held-out score of a small model."""
    train, test = corpus.split(test_size=0.25, random_state=0)
    settings = {"max_iter": 3, "client": False, "n_threads": 1, "random_state": seed}
    model = LDA(4, method=method, **settings, **CHEAPER.get(method.name, {})).fit(train)
    return model.score(test), model.components_


def first(name):
    """A method of the table; of phases, the first, so that nothing is drawn after it."""
    return table.get(name).phases[0]


def in_double(method):
    """The method with its kernel computing in float64."""
    kernel = method.load_kernel()

    def run(docs, view, hyper, seed, state):
        arrays = {name: rows.astype(np.float64) for name, rows in view.arrays.items()}
        return kernel.run(docs, View(arrays, view.totals), hyper, seed, state)

    return replace(method, kernel=replace(kernel, run=run, dtype="float64"))


@pytest.mark.parametrize("name", smooth(KERNELS))
def test_a_call_in_single_precision_costs_hardly_anything(name):
    single, double = (nats(KERNELS[name], dtype, seed=0) for dtype in (np.float32, np.float64))
    assert single != double and abs(single - double) < NATS_OF_A_CALL


@pytest.mark.parametrize("name", choosing(KERNELS))
def test_calls_that_choose_cost_nothing_on_average(name):
    close_on_average(
        *([nats(KERNELS[name], dtype, seed) for seed in SEEDS] for dtype in (np.float32, np.float64))
    )


@pytest.mark.parametrize("name", smooth(SINGLE))
def test_single_precision_costs_less_than_a_thousandth_of_a_nat(name, corpus):
    (single, rows), (double, same) = (score(m, corpus) for m in (first(name), in_double(first(name))))
    assert not np.array_equal(rows, same)
    assert abs(single - double) < NATS


@pytest.mark.slow
@pytest.mark.parametrize("name", choosing(SINGLE))
def test_single_precision_costs_nothing_on_average(name, corpus):
    both = first(name), in_double(first(name))
    close_on_average(*([score(method, corpus, seed)[0] for seed in SEEDS] for method in both))
