"""A pass of every method, in dense NumPy: the reference of its kernel under the view of its topics, and its scheme."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import psi

from bigtopic import methods as table
from bigtopic.corpus.memory import from_matrix
from bigtopic.learning.rounds import iteration_of
from bigtopic.learning.run import Settings
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method, get
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.slices import Plan, make_docs
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.new_model import new_model
from bigtopic.types import AxisStats, Docs, Kernel, RoundInfo

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

N_COMPONENTS, N_WORDS, BATCH = 3, 12, 7
COUNTS = np.random.default_rng(4).poisson(0.6, (20, N_WORDS))
FEW = {"max_sweeps": 3, "n_iter": 10, "max_doc_update_iter": 10, "burn_in": 0, "samples": 2, "sweeps": 1}
# Online EM begins with nothing, of which the mean is even.


def mean(weights):
    return weights / weights.sum(axis=0) if weights.any() else np.ones_like(weights)


VIEWS = {
    "mean": mean,
    "sparse_mean": mean,
    "expected_log": lambda weights: np.exp(psi(weights) - psi(weights.sum(axis=0))),
    "counts": lambda weights: weights,
    "stored": lambda weights: weights,
}


def minibatches(model, corpus) -> Iterator[tuple[Docs, np.ndarray]]:
    (part,) = corpus.parts
    plan = Plan([part.n_docs], corpus.nnz / corpus.n_docs, BATCH, BATCH, seed=model.seed)
    for rnd in plan.rounds(0):
        docs, ids = make_docs(part.read(rnd.slices[0].start, rnd.slices[-1].stop), N_WORDS)
        yield docs, ids["word"]


def statistics(kernel: Kernel, docs: Docs, topic_words: np.ndarray, totals: np.ndarray, told) -> np.ndarray:
    """By the kernel's reference, (n_words, n_components) like the rows of the topics."""
    infer = case.reference(kernel.name)["infer"]
    if kernel.interacts:
        return infer(docs, topic_words, totals, *told)[0]
    found = np.zeros_like(topic_words)
    for d in range(docs.n_docs):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        counts, row = docs.counts[own].astype(float), int(docs.rows[d])
        found[docs.words[own]] += infer(docs.words[own], counts, topic_words, *told, row)[0]
    return found


def dense_pass(method: Method, model, corpus) -> np.ndarray:
    """The weights after a pass, (n_words, n_components)."""
    kernel, scheme, start = method.load_kernel(), method.schemes["topic_words"], model.topic_words
    array = LazyArray(start.raw.astype(float), start.scale.copy(), start.prior, N_COMPONENTS, "word")
    seed = iteration_of(Cursor(), 1, Settings(method.schemes, model.seed, 1, 1)).seed
    alpha = np.full(N_COMPONENTS, method.prior("doc_topic_prior", N_COMPONENTS))
    view = VIEWS[kernel.views["topic_words"]]
    rounds = list(minibatches(model, corpus))
    for step, (docs, ids) in enumerate(rounds, start=1):
        topic_words = view(array.gather(None)[:, :N_COMPONENTS])
        totals, told = topic_words.sum(axis=0), (alpha, model.options, seed)
        found = statistics(kernel, docs, topic_words[ids], totals, told)
        sizes = docs.n_docs, float(docs.counts.sum()), corpus.n_docs, corpus.n_tokens
        info = RoundInfo(step, *sizes, n_steps=len(rounds))
        scheme.step(array, AxisStats(ids, case.padded(found, float)), info)
    return array.gather(None)[:, :N_COMPONENTS]


PHASES = {
    f"{row['method']}-{phase.phase}" if number else row["method"]: phase
    for row in table()
    for number, phase in enumerate(get(row["method"]).phases)
}


@pytest.mark.parametrize("name", PHASES)
def test_a_pass_is_that_of_the_references(name):
    if len(PHASES[name].schemes) > 1:
        pytest.skip("of two arrays: see the kernel's own tests")
    method = replace(PHASES[name], inner=1)
    few = {option: value for option, value in FEW.items() if option in method.kernel_options({})}
    corpus = from_matrix(COUNTS, [f"w{i}" for i in range(N_WORDS)])
    model = new_model(method, N_COMPONENTS, corpus.vocabulary, n_tokens=corpus.n_tokens, options=few)
    expected = dense_pass(method, model, corpus)
    train(model, corpus, Limits(1), n_threads=1, batch_size=BATCH, slice_size=BATCH)
    found = model.topic_words.gather(None)[:, :N_COMPONENTS]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * expected.max())
