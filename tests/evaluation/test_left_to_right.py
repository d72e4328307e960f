"""Left-to-right against exact enumeration, exact cases, and everything that must not matter."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln

from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets.synthetic import KnownLDA
from bigtopic.errors import InputError, SettingError
from bigtopic.estimators.dual_topic import DualTopicModel
from bigtopic.evaluation import left_to_right, log_predictive

TOPICS = np.array([[0.55, 0.25, 0.1, 0.06, 0.04], [0.05, 0.1, 0.15, 0.3, 0.4], [0.1, 0.1, 0.6, 0.1, 0.1]])
ALPHA = np.array([0.3, 0.2, 0.5])
DRAWN = KnownLDA(20, 3, mean_length=25, topic_word_prior=0.3, random_state=1)
COUNTS = DRAWN.documents(60).counts
CORPUS = from_matrix(COUNTS)


def exact(words, topics=TOPICS, alpha=ALPHA):
    """log p(w): the sum over all labels z of p(z | alpha) p(w | z)."""
    labels = np.array(list(product(range(len(alpha)), repeat=len(words))))
    counts = (labels[:, :, None] == np.arange(len(alpha))).sum(axis=1)
    log_prior = gammaln(alpha.sum()) - gammaln(alpha.sum() + len(words))
    log_prior = log_prior + (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=1)
    return np.log(np.exp(log_prior + np.log(topics[labels, words]).sum(axis=1)).sum())


def estimates(words, n, form, particles):
    """Log probabilities of n copies of a document, each with its own order and draws."""
    counts = np.tile(np.bincount(words, minlength=5), (n, 1))
    found = left_to_right(TOPICS, from_matrix(counts), form, particles, doc_topic_prior=ALPHA)
    return found.log_likelihood


@pytest.mark.parametrize("words", [[0, 0, 3, 4, 2, 1], [2, 3, 3], [4], [0, 4, 0, 4, 0, 4, 2]])
def test_weighted_is_unbiased(words):
    ratio = np.exp(estimates(words, 1000, "weighted", 4) - exact(words))
    assert abs(ratio.mean() - 1) <= 3 * ratio.std(ddof=1) / np.sqrt(1000) + 1e-6  # topics are float32


@pytest.mark.parametrize("words", [[0, 0, 3, 4, 2, 1], [2, 3, 3], [0, 4, 0, 4, 0, 4, 2]])
def test_sequential_is_consistent(words):
    found = estimates(words, 8, "sequential", 2000)
    assert abs(found.mean() - exact(words)) < 3 * found.std(ddof=1) / np.sqrt(8) + 1e-6


def test_wallach_is_below_the_truth_on_average_over_documents_of_the_model():
    random = np.random.default_rng(3)
    documents = []
    for _ in range(4000):  # one document has an error of 0.18 nats, the bias is about 0.02
        theta = random.dirichlet(ALPHA)
        documents.append(random.choice(5, 6, p=theta @ TOPICS))
    counts = np.array([np.bincount(words, minlength=5) for words in documents])
    found = left_to_right(TOPICS, from_matrix(counts), "wallach", 20, doc_topic_prior=ALPHA)
    known = {tuple(words): exact(words) for words in {tuple(sorted(words)) for words in documents}}
    error = found.log_likelihood - [known[tuple(sorted(words))] for words in documents]
    assert error.mean() < -3 * error.std(ddof=1) / np.sqrt(len(error))
    assert (error > 0).any()  # of single documents it may be above


@pytest.mark.parametrize("form", ["sequential", "wallach", "weighted"])
def test_uniform_topics_and_one_topic(form):
    uniform = left_to_right(np.ones((3, 20)), CORPUS, form, 2)
    assert uniform.perplexity == pytest.approx(20, rel=1e-6)
    frequency = np.asarray(COUNTS.sum(axis=0)) + 0.5
    one = left_to_right(frequency[None, :], CORPUS, form, 2, train=CORPUS)
    assert one.value == pytest.approx(one.unigram, abs=1e-6)


def test_chunks_and_threads_do_not_matter(monkeypatch):
    expected = left_to_right(DRAWN, CORPUS, particles=2, n_threads=1)
    monkeypatch.setattr("bigtopic.evaluation.subject._FEWEST_ENTRIES", 100)
    again = left_to_right(DRAWN, from_matrix(COUNTS, shuffle=False), particles=2, n_threads=2)
    np.testing.assert_array_equal(again.log_likelihood, expected.log_likelihood)
    assert left_to_right(DRAWN, CORPUS, particles=2, random_state=1).value != expected.value


def test_units_and_what_is_cut():
    found = left_to_right(DRAWN, CORPUS, particles=2, max_tokens=20)
    lengths = np.asarray(COUNTS.sum(axis=1)).ravel()
    np.testing.assert_array_equal(found.tokens, np.minimum(lengths, 20))
    assert found.n_cut == (lengths > 20).sum() > 0
    assert found.value == pytest.approx(found.log_likelihood.sum() / found.tokens.sum())
    assert found.per_document == pytest.approx(found.log_likelihood.mean())
    assert found.details()["cut"].startswith("the first 20 shuffled tokens of")
    assert found.to_dict()["form"] == "sequential" and found.to_dict()["n_cut"] == found.n_cut
    other = left_to_right(np.ones((3, 20)), CORPUS, particles=2, max_tokens=20)
    difference, error = found.minus(other)
    assert difference > 5 * error > 0


def test_every_token_is_among_the_scored_ones_equally_often():
    """One of three tokens of a document is scored, whose probability tells which it was."""
    found = left_to_right(
        np.array([[0.1, 0.2, 0.7]]), from_matrix(np.ones((3000, 3))), particles=1, max_tokens=1
    )
    words = np.searchsorted([0.15, 0.5], np.exp(found.log_likelihood))
    assert np.abs(np.bincount(words) - 1000).max() < 4 * np.sqrt(3000 * 2 / 9)


def test_a_prior_of_ones_own_matters():
    few = left_to_right(TOPICS, from_matrix([[3, 0, 0, 0, 0]]), doc_topic_prior=[9.0, 0.1, 0.1])
    many = left_to_right(TOPICS, from_matrix([[3, 0, 0, 0, 0]]), doc_topic_prior=[0.1, 9.0, 0.1])
    assert few.value > many.value + 1


def test_what_has_no_meaning_is_refused():
    for setting in ({"form": "right-to-left"}, {"particles": 0}, {"max_tokens": 0}):
        with pytest.raises(SettingError, match=next(iter(setting))):
            left_to_right(DRAWN, CORPUS, **setting)
    with pytest.raises(InputError, match="log-predictive"):
        left_to_right(DRAWN, from_matrix(np.full((2, 20), 0.5)))
    with pytest.raises(InputError, match="knows no word"):
        left_to_right(TOPICS, from_matrix(np.zeros((2, 5))))
    dual = DualTopicModel(2, 2, max_iter=1, client=False, n_threads=1).fit(from_matrix(np.ones((4, 20))))
    with pytest.raises(SettingError, match="log_records"):
        left_to_right(dual, CORPUS)
    with pytest.raises(SettingError, match="another measure"):
        left_to_right(DRAWN, CORPUS, particles=1).minus(log_predictive(DRAWN, CORPUS))
