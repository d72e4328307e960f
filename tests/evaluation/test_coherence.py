"""Measures of coherence by document against their definitions, by hand and by brute force."""

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets import lda_corpus
from bigtopic.errors import InputError, SettingError, VocabularyMismatch
from bigtopic.evaluation import coherence, top_words, topics_of

TRUTH = lda_corpus(400, 60, 5, mean_length=12, topic_word_prior=0.1, random_state=2)
CORPUS = from_matrix(TRUTH.counts)


def brute_force(ids, counts, measure):
    present = counts.toarray() > 0
    n_docs = len(present)
    scores = []
    for topic in ids:
        terms = []
        for i, u in enumerate(topic):
            for v in topic[i + 1 :]:
                both, own, other = (
                    (present[:, u] & present[:, v]).sum(),
                    present[:, u].sum(),
                    present[:, v].sum(),
                )
                if not own or not other:
                    continue
                if measure == "umass":
                    terms.append(np.log((both + 1) / own))
                elif measure == "lcp":
                    terms.append(np.log(max(both, 1) / n_docs / (own / n_docs)))
                elif measure == "pmi":
                    terms.extend([np.log(both / n_docs / (own / n_docs * other / n_docs))] if both else [])
                elif both == 0:
                    terms.append(-1.0)
                elif both == n_docs:
                    terms.append(0.0)
                else:
                    joint = both / n_docs
                    terms.append(np.log(joint / (own / n_docs * other / n_docs)) / -np.log(joint))
        scores.append(np.sum(terms) if measure == "umass" else np.mean(terms))
    return np.array(scores)


@pytest.mark.parametrize("measure", ["npmi", "umass", "lcp", "pmi"])
def test_equals_brute_force(measure, monkeypatch):
    monkeypatch.setattr("bigtopic.evaluation.subject._ENTRIES", 500)  # several blocks
    result = coherence(TRUTH.components, CORPUS, measure, n_top=8)
    ids, _ = top_words(topics_of(TRUTH.components), 8)
    np.testing.assert_allclose(result.per_topic, brute_force(ids, TRUTH.counts, measure))
    assert result.value == pytest.approx(result.per_topic.mean())
    assert result.omitted == 0 or measure == "pmi"


# a and b always together, c and d never with them, e in every document, f in none
SIX = from_matrix(
    [
        [1, 2, 0, 0, 1, 0],
        [1, 1, 0, 0, 1, 0],
        [0, 0, 1, 0, 1, 0],
        [0, 0, 3, 1, 1, 0],
        [0, 0, 1, 1, 1, 0],
        [0, 0, 0, 0, 1, 0],
    ],
    list("abcdef"),
)


@pytest.mark.parametrize(
    ("measure", "words", "expected"),
    [
        ("npmi", "ab", 1.0),
        ("npmi", "ac", -1.0),
        ("npmi", "ee", 0.0),
        ("npmi", "cd", np.log((2 / 6) / (3 / 6 * 2 / 6)) / -np.log(2 / 6)),
        ("npmi", "ae", 0.0),
        ("pmi", "ab", np.log(3)),
        ("pmi", "ee", 0.0),
        ("pmi", "cd", np.log(2)),
        ("pmi", "acb", np.log(3)),  # of three pairs, two never occur
        ("lcp", "ab", 0.0),
        ("lcp", "ac", np.log(1 / 2)),
        ("lcp", "cd", np.log(2 / 3)),
        ("lcp", "dc", 0.0),
        ("lcp", "ea", np.log(2 / 6)),
        ("lcp", "ee", 0.0),
        ("lcp", "cda", (np.log(2 / 3) + np.log(1 / 3) + np.log(1 / 2)) / 3),
        ("umass", "ab", np.log(3 / 2)),
        ("umass", "ac", np.log(1 / 2)),
        ("umass", "ee", np.log(7 / 6)),
        ("umass", "cda", np.log(3 / 3) + np.log(1 / 3) + np.log(1 / 2)),
    ],
)
def test_values_by_hand(measure, words, expected):
    found = coherence([[*words]], SIX, measure, n_top=len(words))
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.omitted == pytest.approx(2 / 3 if words == "acb" else 0)


def test_npmi_is_bounded_and_free_of_the_base_of_its_logarithms():
    ids, _ = top_words(topics_of(TRUTH.components), 8)
    words = [[str(word) for word in topic] for topic in ids]
    pairs = [[u, v] for topic in words for i, u in enumerate(topic) for v in topic[i + 1 :]]
    corpus = from_matrix(TRUTH.counts, [str(word) for word in range(60)])
    found = coherence(pairs, corpus, n_top=2).per_topic
    assert found.min() >= -1 and found.max() <= 1
    present = TRUTH.counts.toarray() > 0
    u, v = np.array(pairs, int).T
    both, own, other = ((present[:, x] & present[:, y]).mean(axis=0) for x, y in ((u, v), (u, u), (v, v)))
    with np.errstate(divide="ignore", invalid="ignore"):
        base_2 = np.where(both > 0, np.log2(both / (own * other)) / -np.log2(both), -1)
    np.testing.assert_allclose(found, base_2, atol=1e-12)


def test_words_that_no_document_can_score_are_an_error():
    for measure, words in (("pmi", "ac"), ("npmi", "af"), ("npmi", "ff")):
        with pytest.raises(InputError, match="its 6 documents hold no pair of top words of a topic that"):
            coherence([[*words]], SIX, measure, n_top=2)
    found = coherence([["a", "f"], ["a", "b"]], SIX, "lcp", n_top=2)
    assert np.isnan(found.per_topic[0]) and found.omitted == 0.5 and found.value == 0


def test_another_corpus_and_held_out_documents_are_matched_by_word():
    shifted = TRUTH.counts.toarray()[:, ::-1]
    names = [f"w{i}" for i in range(60)]
    corpus = from_matrix(TRUTH.counts, names)
    other = from_matrix(np.hstack([np.ones((400, 3)), shifted]), ["x", "y", "z", *names[::-1]])
    expected = coherence(TRUTH.components, corpus, "lcp").per_topic
    found = coherence(TRUTH.components, other, "lcp", vocabulary=corpus)
    np.testing.assert_array_equal(found.per_topic, expected)
    _, held_out = corpus.split(0.25, random_state=1)
    rows = held_out.rows()
    expected = coherence(TRUTH.components, from_matrix(TRUTH.counts[rows]), "umass").per_topic
    found = coherence(TRUTH.components, held_out, "umass")
    np.testing.assert_array_equal(found.per_topic, expected)
    assert found.n_docs == 100


def test_pairs_with_a_word_of_no_document_are_left_out_and_reported():
    corpus = from_matrix([[1, 1, 0], [0, 1, 0]], ["a", "b", "never"])
    result = coherence([["a", "b", "never"], ["never", "elsewhere", "a"]], corpus, n_top=3)
    assert result.omitted == pytest.approx(5 / 6)
    assert np.isnan(result.per_topic[1])
    assert result.value == result.per_topic[0]


def test_true_topics_are_more_coherent_than_shuffled_ones():
    shuffled = np.random.default_rng(0).permuted(TRUTH.components, axis=1)
    assert coherence(TRUTH.components, CORPUS).value > coherence(shuffled, CORPUS).value + 0.1


def test_a_view_is_counted_as_it_is():
    part = CORPUS.select(rows=np.arange(100))
    expected = coherence(TRUTH.components, from_matrix(TRUTH.counts[:100]))
    np.testing.assert_allclose(coherence(TRUTH.components, part).per_topic, expected.per_topic)


def test_settings_are_checked():
    with pytest.raises(SettingError, match=r"^measure: must be one of .*; did you mean 'umass'\?$"):
        coherence(TRUTH.components, CORPUS, "u_mass")
    with pytest.raises(SettingError, match="has not kept its texts"):  # written c_v in papers
        coherence(TRUTH.components, CORPUS, "c_v")
    with pytest.raises(SettingError, match=r"n_top=10: topics \[1\] have fewer words; give n_top=3\n"):
        coherence([list("abcdefghij"), list("abc")], CORPUS)
    with pytest.raises(SettingError, match="model: the list is empty"):
        coherence([], CORPUS)
    with pytest.raises(SettingError, match="n_top"):
        coherence(TRUTH.components, CORPUS, n_top=1)
    with pytest.raises(SettingError, match="n_top=61: the model has only"):
        coherence(TRUTH.components, CORPUS, n_top=61)
    with pytest.raises(VocabularyMismatch, match="none of the topics"):
        coherence([["x", "y"]], from_matrix([[1, 1]], ["a", "b"]), n_top=2)


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        (["w1w2"], "model: topic 0 is 'w1w2'; give a model, or a list of words for each topic"),
        ([["w1", 2]], "model: topic 0 is "),
        ([{"w1", "w2"}], "model: topic 0 is "),
        ([5], "model: topic 0 is 5"),
    ],
)
def test_topics_are_lists_of_words(topics, message):
    corpus = from_matrix(np.ones((2, 3)), ["w1", "w2", "w3"])
    with pytest.raises(SettingError, match=message):
        coherence(topics, corpus, n_top=2)
