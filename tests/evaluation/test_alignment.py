"""Alignment by every permutation, distances by their formulas over all words of both, and stability by leaving out."""

import json
from itertools import combinations, permutations

import numpy as np
import pytest

from bigtopic.errors import SettingError, VocabularyMismatch
from bigtopic.evaluation import align, stability
from bigtopic.evaluation.source import topics_of

RNG = np.random.default_rng(3)
TOPICS = RNG.dirichlet(np.full(12, 0.3), 4) + 1e-6
WORDS = [f"w{i}" for i in range(12)]


def noisy(share, seed, topics=TOPICS):
    rng = np.random.default_rng(seed)
    return (1 - share) * topics + share * rng.dirichlet(np.ones(topics.shape[1]), len(topics))


def apart(p, q, distance):
    """From dictionaries of probabilities."""
    words = sorted({*p, *q})
    a, b = (np.array([one.get(word, 0.0) for word in words]) for one in (p, q))
    a, b = a / a.sum(), b / b.sum()
    return np.abs(a - b).sum() if distance == "l1" else np.sqrt(((np.sqrt(a) - np.sqrt(b)) ** 2).sum() / 2)


@pytest.mark.parametrize("distance", ["hellinger", "l1"])
def test_the_match_is_the_best_of_all_and_words_are_matched_by_name(distance, monkeypatch):
    monkeypatch.setattr("bigtopic.evaluation.source._ROWS", 5)
    other_words = [*WORDS[3:], "v0", "v1"][::-1]
    other = RNG.dirichlet(np.full(11, 0.5), 4) + 1e-6
    found = align(topics_of(TOPICS, WORDS), topics_of(other, other_words), distance)
    ours, theirs = (
        [dict(zip(names, topic, strict=True)) for topic in topics]
        for names, topics in ((WORDS, TOPICS), (other_words, other))
    )
    table = np.array([[apart(p, q, distance) for q in theirs] for p in ours])
    best = min(permutations(range(4)), key=lambda order: table[range(4), order].sum())
    assert found.topics.tolist() == list(best) and not len(found.unmatched)
    np.testing.assert_allclose(found.per_topic, table[range(4), best], rtol=1e-5)
    assert found.value == pytest.approx(table[range(4), best].mean(), rel=1e-5)


@pytest.mark.parametrize(("distance", "most"), [("hellinger", 1), ("l1", 2)])
def test_the_same_topics_are_at_0_and_topics_apart_at_the_largest_distance(distance, most):
    order = np.array([2, 0, 3, 1])
    found = align(TOPICS, TOPICS[order], distance)
    np.testing.assert_array_equal(order[found.topics], np.arange(4))
    np.testing.assert_allclose(found.per_topic, 0, atol=1e-7)
    one, other = (
        topics_of(np.ones((1, 2)), ["a", "b"]),
        topics_of(np.array([[1.0, 1, 1e-9]]), ["c", "d", "a"]),
    )
    assert align(one, other, distance).value == pytest.approx(most, rel=1e-4)


def test_the_distance_is_symmetric_and_obeys_the_triangle_inequality():
    a, b, c = (noisy(0.5, seed)[:1] for seed in range(3))
    for distance in ("hellinger", "l1"):
        ab, ba, bc, ac = (align(x, y, distance).value for x, y in ((a, b), (b, a), (b, c), (a, c)))
        assert ab == pytest.approx(ba) and ac <= ab + bc


def test_models_of_different_size_are_matched_in_part():
    found = align(TOPICS, TOPICS[[3, 1]])
    assert found.topics.tolist() == [-1, 1, -1, 0] and np.isnan(found.per_topic[[0, 2]]).all()
    assert found.value == pytest.approx(0, abs=1e-7) and "2 pairs" in found.text()
    back = align(TOPICS[[3, 1]], TOPICS)
    assert back.topics.tolist() == [3, 1] and back.unmatched.tolist() == [0, 2]
    assert repr(back) == "Alignment(0.0000 hellinger, mean of 2 pairs of topics, 2 topics without a match)"
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["per_topic"][0] is None
    assert "<tr>" in found._repr_html_()


def test_stability_is_the_mean_over_pairs_with_the_error_of_the_jackknife():
    models = [noisy(0.1 * (1 + seed), seed)[::-1] for seed in range(4)]
    found = stability(models, "l1")
    pairs = {(i, j): align(models[i], models[j], "l1") for i, j in combinations(range(4), 2)}
    assert found.value == pytest.approx(np.mean([pair.value for pair in pairs.values()]))
    without = [np.mean([pair.value for own, pair in pairs.items() if m not in own]) for m in range(4)]
    assert found.standard_error == pytest.approx(np.sqrt(3 / 4 * np.square(without - np.mean(without)).sum()))
    np.testing.assert_allclose(found.per_topic, np.mean([pairs[0, j].per_topic for j in (1, 2, 3)], axis=0))
    assert found.distances[1, 3] == found.distances[3, 1] == pairs[1, 3].value
    few, much = (stability([noisy(share, seed) for seed in range(3)]).value for share in (0.05, 0.5))
    assert few < much
    two = stability(models[:2])
    assert "nan" not in repr(two) and " ± " in repr(found)
    assert np.isnan(two.standard_error) and json.dumps(two.to_dict(), allow_nan=False)


def test_what_cannot_be_aligned_is_refused():
    with pytest.raises(SettingError, match=r"distance='cosine': must be one of hellinger, l1"):
        align(TOPICS, TOPICS, "cosine")
    with pytest.raises(SettingError, match="other: list has no topics"):
        align(TOPICS, [["a"]])
    with pytest.raises(VocabularyMismatch, match="the models share no word"):
        align(topics_of(np.eye(2), ["a", "b"]), topics_of(np.eye(2), ["c", "d"]))
    with pytest.raises(VocabularyMismatch, match="columns without names can only be matched by position"):
        align(TOPICS, TOPICS[:, :5])
    for models in ([TOPICS], TOPICS[0], None):
        with pytest.raises(SettingError, match="models: give a list of at least two models"):
            stability(models)
    with pytest.raises(SettingError, match=r"models\[1\]: NoneType has no topics"):
        stability([TOPICS, None])
