"""One rule says whether a model knows enough of documents, wherever they come from; a few unknown words say nothing."""

from __future__ import annotations

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import BigtopicWarning, VocabularyMismatch
from bigtopic.evaluation import log_predictive
from bigtopic.inference.known import ENOUGH, unknown_tokens

QUIET = {"n_threads": 1, "client": False, "progress": False}


def titles(n: int, seed: int) -> list[str]:
    """Titles of three to nine words: some of a hundred, or words like "the", or of many thousand that are rare."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        common = rng.choice(["the", "of", "learning", "data"], 3)
        usual = [f"usual{i}" for i in rng.integers(0, 100, rng.integers(1, 4))]
        rare = [f"rare{i}" for i in rng.integers(0, 20_000, rng.integers(0, 4))]
        found.append(" ".join([*common, *usual, *rare]))
    return found


TITLES = titles(1000, seed=0)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Without stop words, words in more than half of the titles, and those in fewer than five."""
    path = tmp_path_factory.mktemp("corpora") / "titles.zarr"
    return bt.ingest(TITLES, path, min_df=5, max_df=0.5, stop_words="english", progress=False, client=False)


@pytest.fixture(scope="module")
def model(corpus):
    return bt.LDA(5, method="online-ope", max_iter=2, random_state=1, **QUIET).fit(corpus)


def known_share(model, texts) -> float:
    unknown, everything = unknown_tokens(model._fitted(), model._documents(texts))
    return 1 - unknown / max(everything, 1)


@pytest.mark.filterwarnings("ignore:.*of the tokens are unknown to the model and left out")
def test_a_title_alone_has_the_topics_that_it_has_among_the_others(model):
    topics, some = model.transform(TITLES), range(0, len(TITLES), 4)
    assert min(known_share(model, [TITLES[i]]) for i in some) < 0.5
    for i in some:
        np.testing.assert_array_equal(model.transform([TITLES[i]])[0], topics[i], err_msg=TITLES[i])


def test_stop_words_and_words_that_were_too_common_are_known(model, corpus):
    assert corpus.text_settings["common_words"] == ["data", "learning"]
    assert corpus.text_settings["known_share"] < 0.5
    words = ["the", "of", "learning", "data", "usual1", "absent", "usual2"]
    counts = from_matrix(np.array([[900, 500, 300, 300, 5, 0, 9]]), words)
    assert unknown_tokens(model._fitted(), counts) == (0, 2014)
    np.testing.assert_array_equal(model.transform(counts), model.transform(["usual1 " * 5 + "usual2 " * 9]))
    assert log_predictive(model, counts, **{k: QUIET[k] for k in ("n_threads", "client")}).unknown_share == 0


def test_the_share_of_unknown_tokens(model, corpus):
    assert unknown_tokens(model._fitted(), corpus)[0] == 0
    counts = from_matrix(np.array([[1, 2, 0], [0, 3, 4]]), ["usual1", "strange", "odd"])
    assert unknown_tokens(model._fitted(), counts) == (9, 10)
    assert unknown_tokens(model._fitted(), counts.select(rows=[0])) == (2, 3)


@pytest.mark.parametrize("ask", ["transform", "score", "perplexity", "representative_documents"])
def test_few_unknown_tokens_are_a_warning_and_many_are_refused(model, ask):
    text = "usual1 usual2 " + "strange " * (ENOUGH - 3)
    with pytest.warns(BigtopicWarning, match="99% of the tokens are unknown to the model and left out"):
        getattr(model, ask)([text])
    with pytest.raises(VocabularyMismatch, match=r"does not know 99% of the 300 tokens.*vocabulary=model"):
        getattr(model, ask)([text + "odd"])


def test_the_same_rule_for_files_and_queries(model, tmp_path):
    store = model.transform_to(TITLES[:50], tmp_path / "theta.zarr")
    with pytest.warns(BigtopicWarning, match="80% of the tokens are unknown"):
        assert model.similar_documents("usual1 strange odd weird unheard", store, 3)
    with pytest.raises(VocabularyMismatch, match="as a text: the model does not know 100%"):
        model.similar_documents("usual1 " + "strange " * ENOUGH, store, 3)
    with pytest.raises(VocabularyMismatch, match="as a text: the model does not know any of its words"):
        model.similar_documents("strange odd", store, 3)
    with pytest.raises(VocabularyMismatch, match="the model's tokeniser finds no words"):
        model.similar_documents("the of", store, 3)


def test_topics_of_other_libraries_know_their_words_alone():
    topics = np.random.default_rng(0).dirichlet(np.ones(3), 2)
    few = from_matrix(np.array([[2, 2, 9, 9]]), ["the", "a", "b", "c"])
    with pytest.warns(BigtopicWarning, match="82% of the tokens are unknown"):
        assert log_predictive(topics, few, vocabulary=["the", "a", "d"]).unknown_share == 18 / 22
