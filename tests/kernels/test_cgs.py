"""Collapsed Gibbs sampling: the posterior where it can be enumerated, and every label where a reference draws it."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from bigtopic import kernels
from bigtopic.errors import InputError, SettingError
from bigtopic.kernels.support import tokens
from bigtopic.types import CallSize, Docs, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL = kernels.load("cgs")
REFERENCE = case.reference("cgs")
N_WORDS, ETA = 30, 0.2


class Chain:
    """A corpus of one slice: counts of labels, and sweeps that change them."""

    def __init__(self, docs: Docs, alpha: np.ndarray, dtype: type = np.float64, **options: int) -> None:
        self.docs, self.alpha, self.dtype = docs, alpha, dtype
        self.counts = np.zeros((docs.n_words, len(alpha)))
        self.hyper = case.hyper(KERNEL, alpha, len(alpha), docs.n_words, **options)
        self.state, self.seed = None, 0

    @property
    def view(self) -> View:
        weights = case.padded(self.counts + ETA, self.dtype)
        return View({"topic_words": weights}, {"topic_words": weights.sum(axis=0, dtype=np.float64)})

    def sweep(self):
        self.seed += 1
        result = KERNEL.run(self.docs, self.view, self.hyper, self.seed, self.state)
        self.counts = self.counts + result.stats["topic_words"][:, : len(self.alpha)]
        self.state = result.state
        return result

    def reference(self):
        """What the next sweep must say."""
        view = self.view
        weights, totals = view.arrays["topic_words"], view.totals["topic_words"]
        n = len(self.alpha)
        return REFERENCE["infer"](
            self.docs,
            weights[:, :n],
            totals[:n],
            self.alpha,
            self.hyper.options,
            self.seed + 1,
            self.state,
        )


def counted(docs: Docs, labels: np.ndarray, n_components: int) -> np.ndarray:
    """Labels of each word, worth 1 in all for each token."""
    tokens = np.repeat(docs.words, docs.counts.astype(int))
    found = np.zeros((docs.n_words, n_components))
    for column in labels.T:
        np.add.at(found, (tokens, column), 1 / labels.shape[1])
    return found


@pytest.fixture
def docs() -> Docs:
    return case.documents([8, 0, 15, 1, 22], N_WORDS, seed=3, first_row=7)


@pytest.mark.parametrize(
    ("n_components", "replicas"), [(4, 1), (16, 2), (37, 1), (40, 3), (150, 1), (200, 2), (270, 1), (300, 2)]
)
def test_every_label_is_that_of_the_reference(docs, n_components, replicas):
    chain = Chain(docs, np.linspace(0.05, 0.5, n_components), replicas=replicas)
    for _ in range(6):
        change, topics, labels = chain.reference()
        result = chain.sweep()
        np.testing.assert_array_equal(result.state["labels"], labels)
        np.testing.assert_allclose(result.stats["topic_words"][:, :n_components], change, atol=1e-9)
        np.testing.assert_allclose(result.doc_topics, topics, rtol=1e-9)


@pytest.mark.parametrize("n_components", [20, 300])
def test_sweeps_of_one_call_are_sweeps_one_after_the_other(docs, n_components):
    own = Chain(docs, np.linspace(0.05, 0.5, n_components), sweeps=4)
    each = Chain(docs, np.linspace(0.05, 0.5, n_components))
    for call in range(3):
        own.seed = each.seed = 10 * call
        found = own.sweep()
        for _ in range(4):
            expected = each.sweep()
        np.testing.assert_array_equal(found.state["labels"], expected.state["labels"])
        np.testing.assert_allclose(own.counts, each.counts, atol=1e-9)
        np.testing.assert_allclose(found.doc_topics, expected.doc_topics, rtol=1e-9)
    np.testing.assert_allclose(own.counts, counted(docs, found.state["labels"], n_components), atol=1e-9)


def test_replicas_are_swept_once(docs):
    with pytest.raises(
        SettingError, match="sweeps=2: labels of 3 replicas are swept once; give one of them as 1"
    ):
        Chain(docs, np.full(4, 0.3), replicas=3, sweeps=2).sweep()


@pytest.mark.parametrize("n_components", [20, 300])
def test_more_tokens_than_four_bytes_can_name_get_the_same_labels(docs, n_components, monkeypatch):
    expected = Chain(docs, np.full(n_components, 0.3)).sweep().state["labels"]
    for most, dtype in ((int(docs.counts.sum()), np.int32), (int(docs.counts.sum()) - 1, np.int64)):
        monkeypatch.setattr(tokens, "_MOST_TOKENS", most)
        found = Chain(docs, np.full(n_components, 0.3)).sweep().state["labels"]
        assert tokens.sorted_by_word(docs)["entries"].dtype == dtype
        np.testing.assert_array_equal(found, expected)


def test_entries_are_sorted_by_word_and_document(docs):
    found, counts = tokens.sorted_by_word(docs), docs.counts.astype(int)
    first, document = np.cumsum(counts) - counts, np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    order = np.argsort(docs.words, kind="stable")
    np.testing.assert_array_equal(found["entries"], np.stack([document, first, counts], axis=1)[order])
    np.testing.assert_array_equal(np.diff(found["starts"]), np.bincount(docs.words, minlength=docs.n_words))
    np.testing.assert_array_equal(found["tokens"], np.append(0, np.cumsum(counts))[docs.indptr])
    of_words = np.bincount(docs.words, counts, docs.n_words)
    np.testing.assert_array_equal(np.diff(found["token_starts"]), of_words)


@pytest.mark.parametrize("n_components", [20, 300])
def test_entries_without_tokens_are_left_out(docs, n_components):
    counts, kept = docs.counts * (np.arange(len(docs.counts)) % 3 > 0), np.arange(len(docs.counts)) % 3 > 0
    indptr = np.append(0, np.cumsum(kept))[docs.indptr]
    fewer = replace(docs, indptr=indptr, words=docs.words[kept], counts=docs.counts[kept])
    own, expected = (
        Chain(given, np.full(n_components, 0.3)) for given in (replace(docs, counts=counts), fewer)
    )
    for _ in range(2):
        np.testing.assert_array_equal(own.sweep().state["labels"], expected.sweep().state["labels"])


@pytest.mark.parametrize("n_components", [20, 300])
def test_documents_sorted_before_get_the_same_labels(docs, n_components):
    own, before = (Chain(given, np.full(n_components, 0.3)) for given in (docs, _sorted(docs)))
    for _ in range(2):
        np.testing.assert_array_equal(own.sweep().state["labels"], before.sweep().state["labels"])


def _sorted(docs: Docs) -> Docs:
    """With what the kernel derives from them, which it must not change, and nothing else that it could sort."""
    derived = KERNEL.derives(docs)
    for array in derived.values():
        array.flags.writeable = False
    return replace(docs, words=docs.words[::-1], counts=docs.counts[::-1], derived=derived)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_counts_are_those_of_the_labels_after_every_sweep(docs, dtype):
    chain = Chain(docs, np.full(5, 0.3), dtype)
    for _ in range(20):
        chain.sweep()
        np.testing.assert_array_equal(chain.counts, counted(docs, chain.state["labels"], 5))
        assert chain.counts.sum() == docs.counts.sum() and chain.state["labels"].dtype == np.int16


@pytest.mark.parametrize(("replicas", "dtype"), [(1, np.int32), (3, np.float64)])
@pytest.mark.parametrize("n_components", [20, 300])
def test_changes_are_of_whole_tokens_where_each_has_one_label(docs, n_components, replicas, dtype):
    chain = Chain(docs, np.full(n_components, 0.3), replicas=replicas)
    for _ in range(2):
        assert chain.sweep().stats["topic_words"].dtype == dtype


@pytest.mark.parametrize("n_draws", [6_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_label_vectors_have_their_exact_probabilities(n_draws):
    """Five tokens of three words in two documents: 32 vectors of labels, one of every 4 sweeps."""
    docs = Docs(np.array([0, 2, 4]), np.array([0, 1, 1, 2]), np.array([2, 1, 1, 1.0]), np.array([3, 9]), 3)
    alpha = np.array([0.6, 0.3])
    exact = REFERENCE["posterior"](docs, 2, alpha, ETA, 3)
    chain, found = Chain(docs, alpha), dict.fromkeys(exact, 0)
    for sweep in range(4 * n_draws):
        chain.sweep()
        if sweep % 4 == 0:
            found[tuple(chain.state["labels"][:, 0].tolist())] += 1
    expected = np.array([n_draws * exact[labels] for labels in exact])
    assert expected.min() > 5
    assert chisquare(list(found.values()), expected * sum(found.values()) / expected.sum()).pvalue > 1e-3


def test_many_replicas_draw_their_responsibilities(docs):
    """One sweep from the same labels: the distance from the limit falls with the root of their number."""
    alpha, start = np.full(4, 0.5), Chain(docs, np.full(4, 0.5))
    start.sweep()
    labels, weights = start.state["labels"], start.counts + ETA
    exact = REFERENCE["limit"](docs, weights, weights.sum(axis=0), alpha, np.eye(4)[labels[:, 0]])
    errors = []
    for replicas in (1, 16, 256, 4096):
        chain = Chain(docs, alpha, replicas=replicas)
        chain.counts, chain.state = start.counts, {"labels": np.repeat(labels, replicas, axis=1)}
        errors.append(np.abs(chain.sweep().stats["topic_words"][:, :4] - exact).sum())
    assert all(many < few / 2 for few, many in pairwise(errors))  # four times smaller, on average


def test_many_replicas_rest_where_responsibilities_do(docs):
    """One sweep from the fixed point of iterative CVB0: the distance from it falls with the root of their number."""
    alpha, ilr, state = np.full(4, 0.5), kernels.load("ilr"), None
    rest = np.zeros((docs.n_words, 4))
    for _ in range(2000):
        weights = case.padded(rest + ETA, np.float64)
        view = View({"topic_words": weights}, {"topic_words": weights.sum(axis=0)})
        result = ilr.run(docs, view, case.hyper(ilr, alpha, 4, docs.n_words), 5, state)
        rest, state = rest + result.stats["topic_words"][:, :4], result.state
    shares = np.repeat(state["shares"].astype(float), docs.counts.astype(int), axis=0)
    reached = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)[:, None, :3]
    errors = []
    for replicas in (16, 256, 4096):
        chain = Chain(docs, alpha, replicas=replicas)
        steps = (np.arange(replicas) + 0.5) / replicas
        chain.state = {"labels": (steps[:, None] > reached).sum(axis=2).astype(np.int16)}
        chain.counts = counted(docs, chain.state["labels"], 4)
        chain.sweep()
        errors.append(np.abs(chain.counts - rest).sum())
    assert all(many < few / 2 for few, many in pairwise(errors))  # four times smaller, on average


def test_one_topic_takes_every_label(docs):
    chain = Chain(docs, np.array([0.4]))
    chain.sweep()
    assert not chain.state["labels"].any()
    np.testing.assert_array_equal(chain.counts[:, 0], np.bincount(docs.words, docs.counts, N_WORDS))
    assert not chain.sweep().stats["topic_words"].any()


def test_the_joint_probability_rises_from_labels_at_random():
    docs = case.documents([40] * 60, 200, seed=8)
    chain = Chain(docs, np.full(8, 0.1))
    chain.state = {
        "labels": np.random.default_rng(0).integers(0, 8, (int(docs.counts.sum()), 1)).astype(np.int16)
    }
    chain.counts = counted(docs, chain.state["labels"], 8)
    joint = [collapsed_joint(chain)]
    for _ in range(5):
        for _ in range(10):
            chain.sweep()
        joint.append(collapsed_joint(chain))
    assert joint[0] < joint[1] < joint[-1]


def collapsed_joint(chain: Chain) -> float:
    """log p(words, labels) but for constants."""
    from scipy.special import gammaln

    topics = np.zeros((chain.docs.n_docs, len(chain.alpha)))
    n_tokens = np.add.reduceat(chain.docs.counts, chain.docs.indptr[:-1]).astype(int)
    np.add.at(topics, (np.repeat(np.arange(chain.docs.n_docs), n_tokens), chain.state["labels"][:, 0]), 1)
    words = gammaln(chain.counts + ETA).sum() - gammaln((chain.counts + ETA).sum(axis=0)).sum()
    return float(words + gammaln(topics + chain.alpha).sum())


def test_draws_are_keyed_by_the_source_row(docs):
    """The same document elsewhere in a slice draws the same, where no other document has its words."""
    alone, _ = case.localised(docs, 4, 5)
    shifted = Docs(
        np.concatenate([[0, 3], 3 + alone.indptr[1:]]),
        np.concatenate([[22, 23, 24], alone.words]).astype(np.int32),
        np.concatenate([[2, 1, 1], alone.counts]),
        np.concatenate([[99], alone.rows]),
        25,
    )
    huge = 1e9  # so many tokens that one more changes no conditional
    labels = []
    for each in (alone, shifted):
        weights = case.padded(np.full((each.n_words, 6), huge), np.float64)
        view = View({"topic_words": weights}, {"topic_words": np.full(16, 1e12)})
        labels.append(KERNEL.run(each, view, case.hyper(KERNEL, 0.5, 6), 4, None).state["labels"])
    np.testing.assert_array_equal(labels[1][4:], labels[0])


def test_tokens_without_a_label_get_one(docs):
    """Of words that the params did not know in the pass before."""
    chain = Chain(docs, np.full(3, 0.3))
    chain.sweep()
    labels = chain.state["labels"].copy()
    new = np.repeat(docs.words, docs.counts.astype(int)) < 10
    labels[new] = -1
    chain.state = {"labels": labels}
    chain.counts[:10] = 0
    chain.sweep()
    np.testing.assert_array_equal(chain.counts, counted(docs, chain.state["labels"], 3))


def test_what_was_remembered_is_not_changed(docs):
    chain = Chain(docs, np.full(3, 0.3))
    chain.sweep()
    before = chain.state["labels"].copy()
    before.flags.writeable = False
    chain.state = {"labels": before}
    chain.sweep()
    assert not np.array_equal(before, chain.state["labels"])


def test_weights_are_refused(docs):
    chain = Chain(replace(docs, counts=docs.counts * 0.5), np.full(3, 0.3))
    with pytest.raises(InputError, match=r"document 7 has a count of 0\.5.*whole tokens"):
        chain.sweep()


def test_settings_that_cannot_be_are_refused(docs):
    with pytest.raises(SettingError, match="replicas=0"):
        Chain(docs, np.full(3, 0.3), replicas=0).sweep()
    with pytest.raises(SettingError, match="n_components=40000"):
        KERNEL.run(docs, Chain(docs, np.full(3, 0.3)).view, case.hyper(KERNEL, 0.1, 40_000), 1, None)


@pytest.mark.parametrize("replicas", ["3", 2.5, 0], ids=repr)
def test_the_estimate_of_memory_refuses_replicas_that_cannot_be(replicas):
    size = CallSize(10, 80, 25, {"topic_words": 40}, {"topic_words": 256}, 250, 160, 40)
    with pytest.raises(SettingError, match=f"replicas={replicas!r}: must be a whole number"):
        KERNEL.scratch(size, {"replicas": replicas})


@pytest.mark.parametrize("n_components", [4, 300])
@pytest.mark.parametrize("eta", [1e-30, 1e-12, 0.2])
def test_a_lone_token_goes_to_any_topic_however_small_the_prior(n_components, eta):
    """Without it, rounding leaves nothing of a tiny prior."""
    lone = Docs(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.float32), np.zeros(1, np.int64), 1)
    weights = np.full((1, n_components), eta)
    weights[0, 2] += 1
    view = View(
        {"topic_words": case.padded(weights, np.float64)}, {"topic_words": case.padded(weights, float)[0]}
    )
    told = case.hyper(KERNEL, 0.1, n_components, 1)
    labels = {"labels": np.array([[2]], np.int16)}
    drawn = [KERNEL.run(lone, view, told, seed, labels).state["labels"][0, 0] for seed in range(4000)]
    assert chisquare(np.bincount(drawn, minlength=n_components)).pvalue > 1e-3
