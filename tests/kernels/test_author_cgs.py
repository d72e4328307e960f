"""Collapsed Gibbs sampling of authors and topics: the posterior where it can be enumerated, and counts of labels."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from bigtopic import kernels
from bigtopic.errors import InputError, ModelError
from bigtopic.types import Docs, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case, signed

KERNEL = kernels.load("author_cgs")
ETA, ALPHA = 0.2, np.array([0.6, 0.3])


class Chain:
    """A corpus of one slice: counts of labels on both axes, and sweeps that change them."""

    def __init__(self, docs: Docs, alpha: np.ndarray = ALPHA) -> None:
        self.docs, self.alpha, self.state, self.seed = docs, alpha, None, 0
        self.told = signed.hyper(KERNEL, len(alpha))
        self.counts = {
            "topic_words": np.zeros((docs.n_words, len(alpha))),
            "author_topics": np.zeros((docs.n_authors, len(alpha))),
        }

    def sweep(self) -> np.ndarray:
        """The labels after one more."""
        self.seed += 1
        priors = {"topic_words": ETA, "author_topics": self.alpha}
        weights = {name: case.padded(rows + priors[name], float) for name, rows in self.counts.items()}
        view = View(weights, {name: rows.sum(axis=0) for name, rows in weights.items()})
        result = KERNEL.run(self.docs, view, self.told, self.seed, self.state)
        self.counts = {
            name: rows + result.stats[name][:, : len(self.alpha)] for name, rows in self.counts.items()
        }
        self.state = result.state
        return result.state["labels"]


def pairs(docs: Docs, labels: np.ndarray, n_components: int) -> tuple[tuple[int, int], ...]:
    """(author, topic) of each token."""
    found, token = [], 0
    for _, counts, authors in signed.listed(docs):
        for _ in range(int(counts.sum())):
            place, topic = divmod(int(labels[token]), n_components)
            found.append((int(authors[place]), topic))
            token += 1
    return tuple(found)


def test_labels_have_their_exact_probabilities():
    """Four tokens of three words in two documents, of which one has two authors: 128 vectors of labels."""
    docs = Docs(
        np.array([0, 2, 3]), np.array([0, 1, 2]), np.array([2, 1, 1.0]), np.array([3, 9]), 3,
        np.array([0, 2, 3]), np.array([0, 1, 1]), 2,
    )  # fmt: skip
    exact = case.reference("author_cgs")["posterior"](signed.listed(docs), 3, 2, ETA, ALPHA)
    chain, found, n_draws = Chain(docs), dict.fromkeys(exact, 0), 8000
    for sweep in range(4 * n_draws):
        labels = chain.sweep()
        if sweep % 4 == 0:
            found[pairs(docs, labels, 2)] += 1
    expected = np.array([n_draws * p for p in exact.values()])
    assert len(exact) == 128 and expected.min() > 5
    assert chisquare(list(found.values()), expected * sum(found.values()) / expected.sum()).pvalue > 1e-3


@pytest.mark.parametrize("n_authors", [2, 3])
@pytest.mark.parametrize("n_components", [3, 16, 37])
def test_authors_and_topics_are_drawn_in_proportion_to_their_weights(n_components, n_authors):
    """One token of a document, against the conditional."""
    rng, n_draws = np.random.default_rng(4), 3000
    docs = Docs(
        np.array([0, 1]), np.array([1]), np.array([1.0]), np.array([5]), 2,
        np.array([0, n_authors]), np.arange(n_authors), n_authors,
    )  # fmt: skip
    words, authors = rng.gamma(0.3, 5, (2, n_components)), rng.gamma(0.3, 5, (n_authors, n_components))
    weights = {"topic_words": case.padded(words, float), "author_topics": case.padded(authors, float)}
    view = View(weights, {name: rows.sum(axis=0) for name, rows in weights.items()})
    told = signed.hyper(KERNEL, n_components)
    labels = [KERNEL.run(docs, view, told, seed, None).state["labels"][0] for seed in range(n_draws)]
    shares = (words[1] / words.sum(axis=0) * authors / authors.sum(axis=1, keepdims=True)).ravel()
    expected, found = n_draws * shares / shares.sum(), np.bincount(labels, minlength=shares.size)
    often = expected > 5
    expected = np.append(expected[often], expected[~often].sum())
    assert chisquare(np.append(found[often], found[~often].sum()), expected).pvalue > 1e-3


def test_counts_are_those_of_the_labels_after_every_sweep():
    docs = signed.documents([8, 0, 15, 1, 22, 9], 30, 7, seed=3)
    chain = Chain(docs, np.full(5, 0.3))
    tokens = np.repeat(docs.words, docs.counts.astype(int))
    for _ in range(10):
        labels = pairs(docs, chain.sweep(), 5)
        by_word, by_author = np.zeros((30, 5)), np.zeros((7, 5))
        np.add.at(by_word, (tokens, [k for _, k in labels]), 1)
        np.add.at(by_author, ([a for a, _ in labels], [k for _, k in labels]), 1)
        np.testing.assert_array_equal(chain.counts["topic_words"], by_word)
        np.testing.assert_array_equal(chain.counts["author_topics"], by_author)


def test_what_cannot_be_labelled_is_refused():
    docs = signed.documents([8, 5], 30, 7, most=3, seed=3)
    with pytest.raises(InputError, match="whole"):
        Chain(replace(docs, counts=docs.counts + 0.5)).sweep()
    chain = Chain(docs)
    chain.sweep()
    chain.state = {"labels": np.full_like(chain.state["labels"], 6)}
    with pytest.raises(ModelError, match=r"row 0 .*fewer authors than when it was labelled"):
        chain.sweep()


@pytest.mark.parametrize("priors", [(1e-30, 0.1), (0.1, 1e-30), (1e-30, 1e-30), (0.2, 0.1)])
def test_a_lone_token_goes_to_any_author_and_topic_however_small_the_priors(priors):
    """Without it, rounding leaves nothing of a tiny prior."""
    docs = Docs(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.float32), np.zeros(1, np.int64), 1)
    docs = replace(docs, author_indptr=np.array([0, 2]), authors=np.arange(2, dtype=np.int32), n_authors=2)
    counts = [np.zeros((1, 3)), np.zeros((2, 3))]
    for count in counts:
        count[0, 1] = 1
    weights = [case.padded(count + prior, np.float64) for count, prior in zip(counts, priors, strict=True)]
    names = ("topic_words", "author_topics")
    view = View(
        dict(zip(names, weights, strict=True)),
        {name: weight.sum(axis=0) for name, weight in zip(names, weights, strict=True)},
    )
    told, labels = case.hyper(KERNEL, priors[1], 3), {"labels": np.array([1], np.int32)}
    drawn = [KERNEL.run(docs, view, told, seed, labels).state["labels"][0] for seed in range(1000)]
    assert chisquare(np.bincount(drawn, minlength=6)).pvalue > 1e-3
