"""Rankings of authors and of items: by hand, by every order of ties, and against scores written from the equations."""

import json
import sys
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import bigtopic as bt
from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import InputError, SettingError
from bigtopic.evaluation import rank_authors, rank_items, split_records
from bigtopic.evaluation.tasks.ranking import _of_values

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import signed

QUIET = {"client": False, "n_threads": 1, "progress": False, "random_state": 0}


def by_hand(order, true, k):
    """First rank, reciprocal rank, precision and recall of candidates in this order."""
    ranks = [rank for rank, one in enumerate(order, 1) if one in true]
    hits = sum(rank <= k for rank in ranks)
    return ranks[0], 1 / ranks[0], hits / k, hits / len(true)


@pytest.mark.parametrize("true", [{0}, {3}, {1, 4}, {0, 2, 3}, {0, 1, 2, 3, 4, 5}], ids=str)
@pytest.mark.parametrize("values", [[6, 5, 4, 3, 2, 1], [2, 5, 5, 2, 2, 7], [1] * 6], ids=str)
def test_ties_are_the_mean_over_their_orders(values, true):
    orders = [p for p in permutations(range(6)) if all(values[a] >= values[b] for a, b in pairwise(p))]
    mask = np.isin(np.arange(6), list(true))
    for k in (1, 2, 4):
        expected = np.mean([by_hand(order, true, k) for order in orders], axis=0)
        np.testing.assert_allclose(_of_values(np.array(values), mask, k), expected, rtol=1e-12)


@pytest.fixture(scope="module")
def authored():
    corpus = signed.corpus_of(signed.drawn(160, 40, 8, 3, length=30, most=2, seed=5).docs, n_parts=2)
    train, test = corpus.split(0.3, random_state=1)
    return bt.AuthorTopicModel(3, method="author-vb", max_iter=15, **QUIET).fit(train), train, test


def test_authors_are_ranked_by_the_likelihood_of_the_document(authored):
    model, train, test = authored
    found = rank_authors(model, test, k=2, client=False)
    topics, authors = model.get_topics().astype(float), model.author_topics(model.authors_[:]).astype(float)
    scores, popular = [], []
    n_docs = dict.fromkeys(model.authors_[:], 0)
    for document in train:
        for name in document.authors:
            n_docs[name] += 1
    ids = [i for i, name in enumerate(model.authors_[:]) if n_docs[name]]
    for document in test:
        own = {model.authors_[:].index(name) for name in document.authors} & set(ids)
        words = model.vocabulary_.index_of(list(document.counts))
        counts = np.array(list(document.counts.values()))
        logs = {i: counts @ np.log(authors[i] @ topics[:, words]) for i in ids}
        scores.append(by_hand(sorted(ids, key=lambda i: -logs[i]), own, 2))
        mask = np.array([i in own for i in ids])
        popular.append(_of_values(np.array([n_docs[model.authors_[i]] for i in ids]), mask, 2))
    for result, expected in ((found, scores), (found.popularity, popular)):
        arrays = result.first_rank, result.reciprocal_rank, result.precision, result.recall
        np.testing.assert_allclose(np.transpose(arrays), expected)
    n = len(scores)
    assert (found.n_docs, found.n_omitted, found.n_candidates) == (n, 0, len(ids))
    assert found.value == pytest.approx(np.mean([score[1] for score in scores]))
    assert found.standard_error == pytest.approx(np.std([score[1] for score in scores], ddof=1) / np.sqrt(n))
    difference, error = found.minus(found.popularity)["reciprocal rank"]
    assert difference == pytest.approx(found.value - found.popularity.value) and difference > 2 * error
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["value"] == found.value
    assert "precision@2" in found.details() and "popularity" in repr(found)


def test_one_topic_ranks_by_chance(authored):
    _, train, test = authored
    model = bt.AuthorTopicModel(1, method="author-vb", max_iter=2, **QUIET).fit(train)
    found = rank_authors(model, test, k=3, client=False)
    n_true = np.array([len(set(d.authors)) for d in test])
    np.testing.assert_allclose(found.precision, n_true / found.n_candidates)
    np.testing.assert_allclose(found.first_rank, (found.n_candidates + 1) / (n_true + 1))


def test_documents_without_a_known_author_or_a_known_word_are_left_out(authored):
    model, _, test = authored
    whole = rank_authors(model, test, k=2, client=False)
    names = ["x", *test.author_vocabulary[1:]]  # all of a0's documents lose it
    found = rank_authors(model, replace(test, author_vocabulary=Vocabulary(names)), k=2, client=False)
    alone = [document.row for document in test if document.authors == ["a0"]]
    assert found.n_omitted == len(alone) > 0 and found.n_candidates == whole.n_candidates
    assert found.rows.tolist() == [row for row in whole.rows.tolist() if row not in alone]
    with pytest.raises(InputError, match="corpus: the model knows no document's authors and words"):
        rank_authors(model, replace(test, vocabulary=Vocabulary([f"v{i}" for i in range(40)])), client=False)


@pytest.fixture(scope="module")
def recorded():
    rng = np.random.default_rng(0)
    likes = np.where(np.equal.outer(np.arange(40) % 2, np.arange(30) % 2), 1.0, 0.05)
    likes *= 1 / (1 + np.arange(30))
    counts = sparse.csr_array(rng.multinomial(900, (likes / likes.sum()).ravel()).reshape(40, 30))
    train, test = split_records(from_matrix(counts), 0.4)
    return bt.DualTopicModel(2, 2, method="dual-cgs", max_iter=30, **QUIET).fit(train), train, test


@pytest.mark.parametrize("without_seen", [True, False])
def test_items_are_ranked_by_their_probability_given_the_row(recorded, without_seen):
    model, train, test = recorded
    found = rank_items(model, test, train if without_seen else None, k=3, client=False)
    probability = model.column_probabilities(np.arange(40))
    seen, held_out = train.to_scipy().toarray() > 0, test.to_scipy().toarray() > 0
    scores = {}
    for row in range(40):
        columns = [c for c in range(30) if not (without_seen and seen[row, c])]
        true = held_out[row, columns]
        if true.any():
            values = probability[row, columns], seen.sum(axis=0)[columns]
            scores[row] = [_of_values(one, true, 3) for one in values]
    assert found.rows.tolist() == list(scores) and found.n_omitted == held_out.any(axis=1).sum() - len(scores)
    for result, which in ((found, 0), (found.popularity, 1)):
        arrays = result.first_rank, result.reciprocal_rank, result.precision, result.recall
        np.testing.assert_allclose(np.transpose(arrays), [own[which] for own in scores.values()])
    assert found.value > found.popularity.value


def test_the_errors_of_one_row_are_null_in_json(recorded):
    model, _, test = recorded
    found = rank_items(model, test.select(rows=np.arange(1)), k=3, client=False)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["standard_error"] is None and told["scores"]["reciprocal rank"] == [found.value, None]


def test_blocks_and_threads_change_nothing(authored, recorded, monkeypatch):
    asked = [
        (rank_authors, (authored[0], authored[2])),
        (rank_items, (recorded[0], recorded[2], recorded[1])),
    ]
    whole = [rank(*given, client=False, n_threads=1) for rank, given in asked]
    monkeypatch.setattr("bigtopic.evaluation.subject._ENTRIES", 50)
    monkeypatch.setattr("bigtopic.evaluation.tasks.ranking._CELLS", 20)
    for (rank, given), one in zip(asked, whole, strict=True):
        other = rank(*given, client=False, n_threads=3)
        assert other.to_dict() == one.to_dict()
        np.testing.assert_array_equal(other.reciprocal_rank, one.reciprocal_rank)


def test_what_cannot_be_ranked_is_refused(authored, recorded, corpus):
    lda = bt.LDA(2, method="vb", max_iter=1, **QUIET).fit(corpus)
    with pytest.raises(SettingError, match=r"model: LDA has no authors; .*log_predictive of other models"):
        rank_authors(lda, authored[2])
    with pytest.raises(SettingError, match="LDA has no row topics"):
        rank_items(lda, recorded[2])
    with pytest.raises(InputError, match="corpus: its documents have no authors"):
        rank_authors(authored[0], corpus)
    for k in (0, 31, 2.0, True):
        with pytest.raises(
            SettingError, match=f"k={k}: must be a whole number from 1 to the model's 30 columns"
        ):
            rank_items(recorded[0], recorded[2], k=k)
    with pytest.raises(InputError, match=r"records: no row has a held-out column .* train lacks"):
        rank_items(recorded[0], recorded[1], recorded[1], client=False)
    with pytest.raises(InputError, match="row 40 of the source is not one of the model's 40 rows"):
        rank_items(recorded[0], from_matrix(np.ones((41, 30))), client=False)
    found = rank_items(recorded[0], recorded[2], client=False)
    with pytest.raises(SettingError, match="other: ranks for other documents"):
        found.minus(rank_items(recorded[0], recorded[2], recorded[1], k=3, client=False))
    without = rank_items(recorded[0], recorded[2], recorded[1], client=False)
    with pytest.raises(SettingError, match="other: ranks for other documents or rows, other candidates"):
        replace(found, rows=without.rows).minus(without)
