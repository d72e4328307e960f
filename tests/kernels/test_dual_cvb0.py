"""CVB0 of the rows of a dual topic model: the sums over all pairs of topics, without making them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.types import Docs, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case
from reference.dual import NAMES, Chain

KERNEL = kernels.load("dual_cvb0")
REFERENCE = case.reference("dual_cvb0")


@pytest.fixture
def docs() -> Docs:
    return case.documents([8, 0, 15, 1, 22], 30, seed=3, first_row=7)


def given(docs: Docs, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    joint = np.random.default_rng(0).gamma(0.5, 40.0, shape) + 0.5
    return case.topics(docs.n_words, shape[1], seed=2), joint


def infer(docs: Docs, shape: tuple[int, int], **changed):
    columns, joint = given(docs, shape)
    hyper = Chain(KERNEL, docs, shape, max_doc_update_iter=6).hyper._replace(**changed)
    arrays = {"column_topics": case.padded(columns, np.float32), "joint": case.padded(joint, np.float64)}
    return KERNEL.run(docs, View(arrays, {}), hyper, 0, None)


@pytest.mark.parametrize("shape", [(2, 3), (1, 4), (5, 1), (20, 17)])
def test_statistics_are_those_of_the_pairs(docs, shape):
    result = infer(docs, shape)
    expected = REFERENCE["infer"](docs, *given(docs, shape), 0.2, docs.n_docs, 0.5, 6)
    for name, counts in zip(NAMES, expected, strict=True):
        own = result.stats[name]
        np.testing.assert_allclose(own[:, : counts.shape[1]], counts, rtol=1e-3, atol=1e-4)
        assert own.sum() == pytest.approx(docs.counts.sum(), rel=1e-5)
        assert own.shape[1] % 16 == 0 and not own[:, counts.shape[1] :].any()
    topics = (expected[0] + 0.2) / (expected[0] + 0.2).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(result.doc_topics, topics, rtol=1e-3, atol=1e-6)


def test_only_topics_are_inferred_where_nothing_is_learned(docs):
    result = infer(docs, (2, 3), statistics=(), doc_topics=True)
    assert not set(NAMES) & set(result.stats)
    np.testing.assert_array_equal(result.doc_topics, infer(docs, (2, 3)).doc_topics)


def test_rows_do_not_depend_on_their_neighbours(docs):
    together = infer(docs, (2, 3)).doc_topics
    part, ids = case.localised(docs, 2, 3)
    columns, joint = given(docs, (2, 3))
    arrays = {"column_topics": case.padded(columns[ids], np.float32), "joint": case.padded(joint, np.float64)}
    hyper = Chain(KERNEL, docs, (2, 3), max_doc_update_iter=6).hyper
    alone = KERNEL.run(part, View(arrays, {}), hyper, 0, None).doc_topics
    np.testing.assert_array_equal(alone[0], together[2])
