"""ILR and mean-field inference of the dual topic model: the references to rounding, nothing lost, transposed data."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from bigtopic import kernels
from bigtopic.types import Docs

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case
from reference.cgs import uniform
from reference.dual import Chain

ILR, MF, CGS = (kernels.load(name) for name in ("dual_ilr", "dual_mf", "dual_cgs"))
REFERENCE, OF_MF = case.reference("dual_ilr"), case.reference("dual_mf")
SHAPES = [(2, 3), (1, 4), (4, 1), (16, 2), (3, 12), (9, 16), (5, 17), (18, 3)]


@pytest.fixture
def docs() -> Docs:
    return case.documents([8, 0, 15, 1, 22], 30, seed=3, first_row=7)


@pytest.mark.parametrize("shape", SHAPES)
def test_ilr_is_the_reference(docs, shape):
    chain, expected = Chain(ILR, docs, shape), None
    others, totals = chain.weights, chain.totals
    for _ in range(4):
        expected = REFERENCE["infer"](docs, others, totals, chain.seed + 1, expected)
        chain.sweep()
        shares = chain.state["shares"].astype(float)
        np.testing.assert_allclose(
            shares / shares.sum(axis=(1, 2), keepdims=True), expected, rtol=2e-5, atol=1e-9
        )
        for own, counts in zip(chain.counts, REFERENCE["counted"](docs, expected), strict=True):
            np.testing.assert_allclose(own, counts, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_mean_field_is_the_reference(docs, shape):
    chain, expected = Chain(MF, docs, shape), None
    others, totals = chain.weights[:2], chain.totals
    for _ in range(4):
        joint = chain.weights[2]
        *expected, pairs = OF_MF["infer"](docs, others, totals, joint, chain.seed + 1, expected)
        chain.sweep()
        for name, share in zip(("row_shares", "column_shares"), expected, strict=True):
            np.testing.assert_allclose(in_proportion(chain.state[name]), share, rtol=2e-5, atol=1e-9)
        counted = chain.weights[2] - joint  # which the scheme does not add
        np.testing.assert_allclose(counted, pairs, rtol=2e-5, atol=1e-6)
        chain.counts[2] = pairs
        row_of = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
        for own, at, share in zip(chain.counts, (row_of, docs.words), expected, strict=False):
            found = np.zeros_like(own)
            np.add.at(found, at, docs.counts[:, None] * share)
            np.testing.assert_allclose(own, found, rtol=2e-5, atol=1e-6)


def in_proportion(shares):
    shares = shares.astype(float)
    return shares / shares.sum(axis=tuple(range(1, shares.ndim)), keepdims=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_is_lost_in_many_sweeps(docs, dtype):
    chain = Chain(ILR, docs, (3, 4), dtype)
    for _ in range(300):
        chain.sweep()
    exact = REFERENCE["counted"](docs, in_proportion(chain.state["shares"]))
    for own, expected in zip(chain.counts, exact, strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-8)
        assert own.sum() == pytest.approx(docs.counts.sum(), rel=1e-12)


def transposed(docs: Docs) -> tuple[Docs, np.ndarray]:
    """The columns as rows, and for each new entry the number that it had."""
    entries = sparse.csr_array(
        (np.arange(1, len(docs.words) + 1), docs.words, docs.indptr), (docs.n_docs, docs.n_words)
    )
    turned = entries.T.tocsr()
    order = turned.data - 1
    indptr, rows = turned.indptr.astype(np.int64), turned.indices.astype(np.int32)
    return Docs(indptr, rows, docs.counts[order], np.arange(docs.n_words), docs.n_docs), order


def test_transposed_data_have_the_transposed_answer(docs):
    chain = Chain(ILR, docs, (2, 3))
    for _ in range(400):
        chain.sweep()
    turned, order = transposed(docs)
    other = Chain(ILR, turned, (3, 2), priors=(0.3, 0.2, 0.5))
    other.state = {"shares": chain.state["shares"][order].swapaxes(1, 2).copy()}
    other.counts = [chain.counts[1].copy(), chain.counts[0].copy(), chain.counts[2].T.copy()]
    for _ in range(400):
        other.sweep()
    np.testing.assert_allclose(other.counts[2], chain.counts[2].T, atol=1e-4)
    np.testing.assert_allclose(other.counts[0], chain.counts[1], atol=1e-4)


def test_many_replicas_draw_the_responsibilities(docs):
    """One sweep from the same labels: the distance of CGS from ILR falls with the root of the replicas."""
    ones = Docs(docs.indptr, docs.words, np.ones(len(docs.words), np.float32), docs.rows, docs.n_words)
    start = Chain(CGS, ones, (2, 3))
    start.sweep()
    labels = start.state["labels"]
    limit = Chain(ILR, ones, (2, 3))
    limit.counts = [counts.copy() for counts in start.counts]
    limit.state = {"shares": np.eye(6, dtype=np.float32)[labels[:, 0]].reshape(-1, 2, 3)}
    limit.sweep()
    errors = []
    for replicas in (1, 16, 256, 4096):
        chain = Chain(CGS, ones, (2, 3), replicas=replicas)
        chain.counts = [counts.copy() for counts in start.counts]
        chain.state = {"labels": np.repeat(labels, replicas, axis=1)}
        chain.sweep()
        errors.append(np.abs(chain.counts[1] - limit.counts[1]).sum())
    assert all(many < few / 2 for few, many in pairwise(errors))  # four times smaller, on average


@pytest.mark.parametrize("kernel", [ILR, MF], ids=["ilr", "mf"])
def test_inputs_are_only_read(docs, kernel):
    chain = Chain(kernel, docs, (2, 3))
    chain.sweep()
    state, view = {name: share.copy() for name, share in chain.state.items()}, chain.view
    arrays = [docs.indptr, docs.words, docs.counts, docs.rows]
    arrays += [*state.values(), *view.arrays.values(), *view.totals.values()]
    for array in arrays:
        array.flags.writeable = False
    before = [array.copy() for array in arrays]
    kernel.run(docs, view, chain.hyper, 9, state)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


@pytest.mark.parametrize("kernel", [ILR, MF], ids=["ilr", "mf"])
@pytest.mark.parametrize(
    "priors", [(1e24, 1e24, 0.5), (1e20, 1e20, 1e24), (1e-30,) * 3], ids=["rows", "all", "tiny"]
)
def test_priors_of_any_size_leave_numbers(docs, kernel, priors):
    chain = Chain(kernel, docs, (3, 2), priors=priors)
    for _ in range(3):
        chain.sweep()
        for share in chain.state.values():
            sums = share.reshape(len(share), -1).sum(axis=1)
            assert (np.isfinite(sums) & (sums > 0)).all()
        assert all(np.isfinite(counts).all() for counts in chain.counts)


@pytest.mark.parametrize("kernel", [ILR, MF], ids=["ilr", "mf"])
def test_weights_may_be_fractions_and_priors_tiny(docs, kernel):
    light = Docs(docs.indptr, docs.words, docs.counts * np.float32(0.3), docs.rows, docs.n_words)
    chain = Chain(kernel, light, (3, 2), priors=(1e-30, 1e-30, 1e-30))
    for _ in range(50):
        chain.sweep()
        assert all(np.isfinite(counts).all() for counts in chain.counts)
    assert chain.counts[0].sum() == pytest.approx(light.counts.sum(), rel=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_entries_begin_with_what_follows_from_given_topics(docs, shape):
    """Zeros in place of responsibilities are those of an entry that is not counted yet."""
    rng = np.random.default_rng(2)
    columns = 50 * rng.gamma(0.3, size=(docs.n_words, shape[1]))
    joint = 1000 * rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)
    chain = Chain(ILR, docs, shape).begin(columns, joint)
    nothing = np.zeros((len(docs.words), *shape))
    expected = REFERENCE["infer"](docs, chain.weights, chain.totals, 1, nothing)
    chain.sweep()
    np.testing.assert_allclose(in_proportion(chain.state["shares"]), expected, rtol=2e-5, atol=1e-9)
    chain = Chain(MF, docs, shape).begin(columns, joint)
    nothing = [np.zeros((len(docs.words), n)) for n in shape]
    *expected, pairs = OF_MF["infer"](docs, chain.weights[:2], chain.totals, chain.weights[2], 1, nothing)
    chain.sweep()
    for name, share in zip(("row_shares", "column_shares"), expected, strict=True):
        np.testing.assert_allclose(in_proportion(chain.state[name]), share, rtol=2e-5, atol=1e-9)
    np.testing.assert_allclose(chain.counts[2] - joint, pairs, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", [ILR, MF], ids=["ilr", "mf"])
@pytest.mark.parametrize("shape", [(2, 3), (9, 16)])
def test_entries_begin_in_pairs_of_a_joint_distribution_alone(docs, kernel, shape):
    theta = 1000 * np.random.default_rng(2).dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)
    chain = Chain(kernel, docs, shape).begin(0.0, theta)
    chain.sweep()
    if kernel is ILR:
        pairs = chain.state["shares"].reshape(len(docs.words), -1).argmax(axis=1)
    else:
        pairs = chain.state["row_shares"].argmax(axis=1) * shape[1] + chain.state["column_shares"].argmax(
            axis=1
        )
    sums, of_row = np.cumsum(theta) / theta.sum(), np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    drawn = [uniform(1, int(docs.rows[d]), int(i - docs.indptr[d])) for i, d in enumerate(of_row)]
    np.testing.assert_array_equal(pairs, np.searchsorted(sums, drawn, "right"))
