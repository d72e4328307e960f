"""NPMI and UMass against their definitions, by hand and by brute force."""

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets import lda_corpus
from bigtopic.errors import SettingError, VocabularyMismatch
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
                elif both == 0:
                    terms.append(-1.0)
                elif both == n_docs:
                    terms.append(0.0)
                else:
                    joint = both / n_docs
                    terms.append(np.log(joint / (own / n_docs * other / n_docs)) / -np.log(joint))
        scores.append(np.sum(terms) if measure == "umass" else np.mean(terms))
    return np.array(scores)


@pytest.mark.parametrize("measure", ["npmi", "umass"])
def test_equals_brute_force(measure, monkeypatch):
    monkeypatch.setattr("bigtopic.evaluation.subject._ENTRIES", 500)  # several blocks
    result = coherence(TRUTH.components, CORPUS, measure, n_top=8)
    ids, _ = top_words(topics_of(TRUTH.components), 8)
    np.testing.assert_allclose(result.per_topic, brute_force(ids, TRUTH.counts, measure))
    assert result.value == pytest.approx(result.per_topic.mean())
    assert result.omitted == 0


def test_npmi_at_its_ends_and_its_limits():
    # a and b always together, c never with them; every document has e
    counts = np.array([[1, 2, 0, 0, 1], [1, 1, 0, 0, 1], [0, 0, 1, 0, 1], [0, 0, 3, 0, 1]])
    corpus = from_matrix(counts, list("abcde"))

    def npmi(*words):
        return coherence([words], corpus, n_top=2).value

    assert npmi("a", "b") == pytest.approx(1.0)
    assert npmi("a", "c") == -1.0
    assert npmi("a", "e") == pytest.approx(0.0)
    assert coherence([["e", "e"]], corpus, n_top=2).value == 0.0  # both in every document


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
    with pytest.raises(SettingError, match="measure"):
        coherence(TRUTH.components, CORPUS, "c_v")
    with pytest.raises(SettingError, match="n_top"):
        coherence(TRUTH.components, CORPUS, n_top=1)
    with pytest.raises(SettingError, match="n_top=61: the model has only"):
        coherence(TRUTH.components, CORPUS, n_top=61)
    with pytest.raises(VocabularyMismatch, match="none of the topics"):
        coherence([["x", "y"]], from_matrix([[1, 1]], ["a", "b"]), n_top=2)
