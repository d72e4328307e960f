"""Which topics are unused, by the definition: few tokens, whose words are those of the corpus."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import poisson

from bigtopic.state import model as module
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.model import count_blocks, unused_topics
from bigtopic.state.sparse.array import SparseArray

V = 60


def by_definition(counts, n_tokens=None):
    """The two conditions, topic by topic and word by word; `counts` are (n_words, n_components)."""
    counts = counts * (n_tokens or counts.sum()) / counts.sum()
    sizes, found = counts.sum(axis=0), []
    for k, size in enumerate(sizes):
        surprise, chance = 0.0, 0.0
        for v in range(len(counts)):
            mean = size * counts[v].sum() / counts.sum()
            surprise += counts[v, k] * np.log(counts[v, k] / mean) if counts[v, k] else 0.0
            chance += mean * np.log(1 + 1 / mean) if mean else 0.0
        found.append(size < counts.sum() / (2 * len(sizes)) and surprise <= 2 * chance)
    return np.array(found)


def some_counts(seed=0):
    """Three topics of words of their own, one of those with few tokens, and three of any words, of all sizes."""
    rng = np.random.default_rng(seed)
    own = [np.zeros(V), np.zeros(V), np.zeros(V)]
    for i, size in enumerate((3000, 2000, 60)):
        own[i][20 * i : 20 * i + 20] = rng.multinomial(size, rng.dirichlet(np.ones(20)))
    common = sum(own) / sum(own).sum()
    return np.stack([*own, *(rng.multinomial(size, common) for size in (2500, 80, 5))], axis=1).astype(float)


@pytest.mark.parametrize("cells", [1 << 20, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_it_is_the_definition(cells, dtype, monkeypatch):
    monkeypatch.setattr(module, "_CELLS", cells)
    for seed in range(5):
        counts = some_counts(seed)
        array = LazyArray.zeros(V, 6, axis="word", prior=0.3, dtype=dtype)
        array.raw[:, :6] = counts
        array.scale[:6] = 0.25 if dtype != "int32" else 1
        sizes = counts.sum(axis=0)
        for n_tokens in (None, counts.sum(), 40 * counts.sum()):
            found = unused_topics(sizes * array.scale[0], count_blocks(array), n_tokens)
            assert found.tolist() == by_definition(counts * array.scale[0], n_tokens).tolist()
        # not the small one with words of its own, nor the large one of all words
        in_tokens = unused_topics(sizes * array.scale[0], count_blocks(array), counts.sum())
        assert in_tokens.tolist() == [False, False, False, False, True, True]


@pytest.mark.parametrize("chances", [1, 2, 1 << 10])
@pytest.mark.parametrize("cells", [1 << 20, 40])
def test_lists_have_the_unused_topics_of_dense_rows(cells, chances, monkeypatch):
    """However few chances are computed beforehand: the others are where they may matter."""
    monkeypatch.setattr(module, "_CELLS", cells)
    monkeypatch.setattr(module, "_CHANCES", chances)
    for seed in range(5):
        counts = np.tile(some_counts(seed), 4)
        counts[:, 6:] *= np.random.default_rng(seed).uniform(0.05, 1.5, 18)
        array = SparseArray.zeros(V, 24, axis="word", prior=0.3)
        array.begin_with(csr_array(counts / 0.25))
        array.multiply(0.25)
        found = unused_topics(array.totals()[:24], count_blocks(array))
        known = by_definition(counts)
        assert found.tolist() == known.tolist() and 2 < found.sum() < 22


def test_the_chance_of_the_definition_is_above_what_chance_gives():
    """E[n log(n / m)] of a Poisson variable, by its sum."""
    for mean in (1e-3, 0.1, 1.0, 7.0, 300.0):
        n = np.arange(1, int(mean + 60 * mean**0.5) + 50)
        expected = (poisson.pmf(n, mean) * n * np.log(n / mean)).sum()
        assert expected < mean * np.log1p(1 / mean) < 2.2 * expected


def test_a_model_that_has_learned_nothing_has_no_unused_topics():
    assert not unused_topics(np.zeros(4), [np.zeros((V, 4))]).any()
    assert not unused_topics(np.full(4, 30.0), [np.full((V, 4), 0.5)]).any()
    assert not unused_topics(np.array([90.0]), [np.full((V, 1), 1.5)]).any()  # the only topic has all words


def test_a_topic_without_tokens_is_unused():
    counts = some_counts()
    counts[:, 2] = 0
    assert unused_topics(counts.sum(axis=0), [counts])[2]
