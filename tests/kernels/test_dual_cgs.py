"""Collapsed Gibbs sampling of the dual topic model: the posterior where it can be enumerated, every label elsewhere."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from bigtopic import kernels
from bigtopic.errors import InputError, SettingError
from bigtopic.types import Docs

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case
from reference.dual import Chain

KERNEL = kernels.load("dual_cgs")
REFERENCE = case.reference("dual_cgs")
N_WORDS = 30


def counted(docs: Docs, labels: np.ndarray, shape: tuple[int, int]) -> list[np.ndarray]:
    """Labels of each row, of each column and of each pair, worth 1 in all for each record."""
    counts = docs.counts.astype(int)
    row_of = np.repeat(np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr)), counts)
    found = [np.zeros((docs.n_docs, shape[0])), np.zeros((docs.n_words, shape[1])), np.zeros(shape)]
    for k, j in np.array(np.divmod(labels.T, shape[1])).swapaxes(0, 1):
        for table, at in zip(found, ((row_of, k), (np.repeat(docs.words, counts), j), (k, j)), strict=True):
            np.add.at(table, at, 1 / labels.shape[1])
    return found


@pytest.fixture
def docs() -> Docs:
    return case.documents([8, 0, 15, 1, 22], N_WORDS, seed=3, first_row=7)


@pytest.mark.parametrize(
    ("shape", "replicas"),
    [
        ((2, 3), 1),
        ((1, 4), 1),
        ((16, 2), 2),
        ((5, 12), 1),
        ((9, 2), 1),
        ((10, 16), 1),
        ((20, 17), 1),
        ((3, 40), 3),
    ],
)
def test_every_label_is_that_of_the_reference(docs, shape, replicas):
    chain = Chain(KERNEL, docs, shape, replicas=replicas)
    for _ in range(5):
        *weights, labels = REFERENCE["infer"](
            docs,
            *chain.weights,
            *chain.totals,
            chain.hyper.options,
            chain.seed + 1,
            chain.remembered("labels"),
        )
        chain.sweep()
        np.testing.assert_array_equal(chain.state["labels"], labels)
        for own, expected in zip(chain.weights, weights, strict=True):
            np.testing.assert_allclose(own, expected, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_counts_are_those_of_the_labels_after_every_sweep(docs, dtype):
    chain = Chain(KERNEL, docs, (3, 4), dtype)
    for _ in range(20):
        chain.sweep()
        for own, expected in zip(chain.counts, counted(docs, chain.state["labels"], (3, 4)), strict=True):
            np.testing.assert_array_equal(own, expected)
            assert own.sum() == docs.counts.sum()


@pytest.mark.parametrize("n_draws", [9_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_label_vectors_have_their_exact_probabilities(n_draws):
    """Four records in two rows and two columns, two row topics and two column topics: 256 vectors of labels."""
    docs = Docs(np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([1, 1, 2.0]), np.array([3, 9]), 2)
    priors = (0.6, 0.9, 1.1)
    exact = REFERENCE["posterior"](docs, (2, 2), 2, 2, priors)
    chain = Chain(KERNEL, docs, (2, 2), priors=priors)
    found = dict.fromkeys(exact, 0)
    for sweep in range(4 * n_draws):
        chain.sweep()
        if sweep % 4 == 0:
            found[tuple(chain.state["labels"][:, 0].tolist())] += 1
    expected = np.array([n_draws * exact[labels] for labels in exact])
    assert expected.min() > 5
    assert chisquare(list(found.values()), expected * sum(found.values()) / expected.sum()).pvalue > 1e-3


def test_records_without_a_label_get_one(docs):
    """Of columns that the params did not know in the pass before."""
    chain = Chain(KERNEL, docs, (2, 3))
    chain.sweep()
    labels = chain.state["labels"].copy()
    labels[np.repeat(docs.words, docs.counts.astype(int)) < 10] = -1
    known = labels[:, 0] >= 0
    counts = docs.counts.astype(int)
    kept = replace(docs, counts=np.where(docs.words < 10, 0, counts))
    chain.counts = counted(kept, labels[known], (2, 3))
    chain.state = {"labels": labels}
    chain.sweep()
    for own, expected in zip(chain.counts, counted(docs, chain.state["labels"], (2, 3)), strict=True):
        np.testing.assert_array_equal(own, expected)


@pytest.mark.parametrize(("shape", "replicas"), [((8, 16), 1), ((9, 3), 1), ((3, 5), 2)])
def test_labels_among_new_ones_are_those_of_the_reference(docs, shape, replicas):
    """Records with a label before and after those without one, in the same row and column too."""
    chain = Chain(KERNEL, docs, shape, replicas=replicas)
    for _ in range(2):
        chain.sweep()
    labels, rng = chain.state["labels"].copy(), np.random.default_rng(5)
    tokens = np.repeat(np.arange(len(docs.words)), docs.counts.astype(int))
    labels[rng.random(len(labels)) < 0.4] = -1
    kept = labels[:, 0] >= 0
    assert ((tokens[1:] == tokens[:-1]) & (kept[1:] != kept[:-1])).any()
    known = replace(docs, counts=np.bincount(tokens[kept], minlength=len(docs.words)))
    chain.counts, chain.state = counted(known, labels[kept], shape), {"labels": labels}
    *weights, drawn = REFERENCE["infer"](
        docs, *chain.weights, *chain.totals, chain.hyper.options, chain.seed + 1, labels
    )
    chain.sweep()
    np.testing.assert_array_equal(chain.state["labels"], drawn)
    for own, expected in zip(chain.weights, weights, strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-9)


def test_inputs_are_only_read(docs):
    chain = Chain(KERNEL, docs, (2, 3))
    chain.sweep()
    state, view = chain.state["labels"].copy(), chain.view
    arrays = [
        state,
        docs.indptr,
        docs.words,
        docs.counts,
        docs.rows,
        *view.arrays.values(),
        *view.totals.values(),
    ]
    for array in arrays:
        array.flags.writeable = False
    before = [array.copy() for array in arrays]
    KERNEL.run(docs, view, chain.hyper, 9, {"labels": state})
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


def test_what_cannot_be_is_refused(docs):
    with pytest.raises(InputError, match=r"document 7 has a count of 0\.5"):
        Chain(KERNEL, replace(docs, counts=docs.counts * 0.5), (2, 2)).sweep()
    with pytest.raises(SettingError, match="replicas=0"):
        Chain(KERNEL, docs, (2, 2), replicas=0).sweep()


@pytest.mark.parametrize(
    "priors", [(1e-30, 0.3, 0.5), (0.2, 1e-30, 0.5), (1e-30, 1e-30, 0.5), (0.2, 0.3, 0.5)]
)
def test_a_lone_record_goes_to_any_pair_however_small_the_priors(priors):
    """Without it, rounding leaves nothing of a tiny prior."""
    lone = Docs(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.float32), np.zeros(1, np.int64), 1)
    drawn = []
    for seed in range(1000):
        chain = Chain(KERNEL, lone, (2, 3), priors=priors)
        chain.seed = seed
        for _ in range(2):
            chain.sweep()
        drawn.append(chain.state["labels"][0, 0])
    assert chisquare(np.bincount(drawn, minlength=6)).pvalue > 1e-3


@pytest.mark.parametrize(("shape", "replicas"), [((2, 3), 1), ((5, 12), 1), ((10, 16), 1), ((3, 4), 2)])
def test_labels_are_drawn_given_the_topics_that_a_run_begins_with(docs, shape, replicas):
    rng = np.random.default_rng(2)
    given = (
        50 * rng.gamma(0.3, size=(docs.n_words, shape[1])),
        1000 * rng.dirichlet(np.ones(shape[0] * shape[1])),
    )
    chain = Chain(KERNEL, docs, shape, replicas=replicas).begin(given[0], given[1].reshape(shape))
    told = docs, *chain.weights, *chain.totals, chain.hyper.options, chain.seed + 1, None
    *weights, labels = REFERENCE["infer"](*told, pairs="given")
    chain.sweep()
    np.testing.assert_array_equal(chain.state["labels"], labels)
    for own, expected in zip(chain.weights, weights, strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-9)


@pytest.mark.parametrize(("shape", "replicas"), [((2, 3), 1), ((10, 16), 1), ((3, 4), 2)])
def test_labels_are_drawn_from_a_joint_distribution_alone(docs, shape, replicas):
    """Also that of another slice, once columns are counted: then given what is counted."""
    theta = 1000 * np.random.default_rng(2).dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)
    chain = Chain(KERNEL, docs, shape, replicas=replicas).begin(0.0, theta)
    told = docs, *chain.weights, *chain.totals, chain.hyper.options, chain.seed + 1, None
    *_, labels = REFERENCE["infer"](*told, pairs=theta)
    chain.sweep()
    np.testing.assert_array_equal(chain.state["labels"], labels)
    told = docs, *chain.weights, *chain.totals, chain.hyper.options, chain.seed + 1, None
    *_, labels = REFERENCE["infer"](*told, pairs="given")
    chain.state = None
    chain.sweep()
    np.testing.assert_array_equal(chain.state["labels"], labels)
