"""Models of gensim, scikit-learn and tomotopy become ours, go on learning, and go back."""

from __future__ import annotations

import numpy as np
import pytest

from bigtopic import foreign
from bigtopic.errors import BigtopicWarning, SettingError, VocabularyMismatch
from bigtopic.estimators.dual_topic import DualTopicModel
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model

CLOSE = {"rel": 1e-6}  # float32 topics


@pytest.fixture(scope="module")
def of_gensim(halves):
    from gensim.models import LdaModel

    return lambda **settings: LdaModel(
        halves[0].bags,
        num_topics=4,
        id2word=dict(enumerate(halves[0].words)),
        chunksize=100,
        decay=0.7,
        random_state=0,
        **{"alpha": [0.1, 0.2, 0.3, 0.4], "eta": 0.2, "iterations": 500, "gamma_threshold": 1e-6, **settings},
    )


@pytest.fixture(scope="module")
def of_sklearn(halves):
    from sklearn.decomposition import LatentDirichletAllocation

    return lambda **settings: LatentDirichletAllocation(
        4, max_doc_update_iter=500, mean_change_tol=1e-6, random_state=0, **settings
    ).fit(halves[0].matrix)


@pytest.fixture(scope="module")
def of_tomotopy(tomotopy, halves):
    model = tomotopy.LDAModel(k=4, alpha=0.2, eta=0.05, seed=1)
    for tokens in halves[0].tokens:
        model.add_doc(tokens)
    model.train(50, workers=1)
    return model


def test_gensim_there_and_back(of_gensim, score, halves, tmp_path):
    theirs = of_gensim()
    read = foreign.from_gensim(theirs)
    assert score(read) == pytest.approx(score(theirs), **CLOSE)
    assert read.vocabulary_[:] == halves[0].words and read.n_docs_seen_ == 200
    np.testing.assert_allclose(read.doc_topic_prior_, theirs.alpha)
    assert read.topic_word_prior_ == pytest.approx(0.2)
    read.save(tmp_path / "model.zarr")
    assert score(load_model(tmp_path / "model.zarr")) == score(read)
    back = foreign.to_gensim(read)
    assert score(back) == pytest.approx(score(theirs), **CLOSE)
    np.testing.assert_allclose(back.state.get_lambda(), theirs.state.get_lambda(), rtol=1e-5)
    assert (back.num_updates, back.state.numdocs) == (theirs.num_updates, theirs.state.numdocs)


def test_ours_infers_like_gensim(of_gensim, halves):
    theirs = of_gensim()
    gammas = theirs.inference(halves[1].bags)[0]
    read = foreign.from_gensim(theirs).set_params(client=False)
    expected = gammas / gammas.sum(axis=1, keepdims=True)
    assert np.abs(read.transform(halves[1].matrix) - expected).mean() < 1e-3


def test_a_model_of_gensim_goes_on_like_gensim(of_gensim, halves):
    theirs = of_gensim()
    read = foreign.from_gensim(theirs).set_params(client=False, progress=False, total_samples=300)
    read.partial_fit(halves[1].corpus)
    theirs.update(halves[1].bags)
    np.testing.assert_allclose(read.get_topics(), theirs.get_topics(), atol=1e-3)
    assert read.n_docs_seen_ == theirs.state.numdocs == 300


def test_priors_that_gensim_learns_are_learnt_on(of_gensim, halves):
    theirs = of_gensim(alpha="auto", eta="auto")
    read = foreign.from_gensim(theirs).set_params(client=False, progress=False)
    assert read.learn_doc_topic_prior == read.learn_topic_word_prior == "asymmetric"
    np.testing.assert_allclose(read.topic_word_prior_, theirs.eta)
    for _ in range(10):  # learning begins with the tenth update
        read.partial_fit(halves[1].corpus)
    assert (read.doc_topic_prior_ != theirs.alpha).all()


def test_gensim_gets_words_and_goes_on(ours, score, halves):
    theirs = foreign.to_gensim(ours)
    assert score(theirs) == pytest.approx(score(ours), **CLOSE)
    assert theirs.id2word.doc2bow(["w3", "w5", "w3"]) == [(3, 2), (5, 1)]
    assert theirs.id2word.dfs[3] == ours.vocabulary_.document_frequency[3]
    assert [word for word, _ in theirs.show_topic(1, 5)] == [word for word, _ in ours.show_topic(1, 5)]
    before = theirs.get_topics()
    theirs.update(halves[1].bags)
    assert 0 < np.abs(theirs.get_topics() - before).max() < 0.05  # on from there, not anew


@pytest.mark.parametrize("learning_method", ["batch", "online"])
def test_scikit_learn_there_and_back(learning_method, of_sklearn, score, halves):
    theirs = of_sklearn(learning_method=learning_method)
    read = foreign.from_sklearn(theirs, halves[0].words).set_params(client=False)
    assert score(read) == pytest.approx(score(theirs, vocabulary=halves[0].words), **CLOSE)
    np.testing.assert_allclose(
        read.transform(halves[1].matrix), theirs.transform(halves[1].matrix), atol=1e-2
    )
    back = foreign.to_sklearn(read)
    np.testing.assert_allclose(back.components_, theirs.components_, rtol=1e-5)
    np.testing.assert_allclose(
        back.transform(halves[1].matrix), theirs.transform(halves[1].matrix), atol=1e-2
    )
    assert back.n_batch_iter_ == theirs.n_batch_iter_


def test_a_model_of_scikit_learn_goes_on_like_scikit_learn(of_sklearn, halves):
    theirs = of_sklearn(total_samples=400)
    read = foreign.from_sklearn(theirs, halves[0].words).set_params(client=False, progress=False)
    read.partial_fit(halves[1].corpus)
    theirs.partial_fit(halves[1].matrix)
    np.testing.assert_allclose(read.components_, theirs.components_, rtol=1e-3, atol=1e-2)


def test_words_of_scikit_learn_are_those_of_its_vectoriser(of_sklearn):
    from sklearn.feature_extraction.text import CountVectorizer

    names = [f"w{i:02}" for i in range(80)]
    vectoriser = CountVectorizer().fit([" ".join(names)])
    assert foreign.from_sklearn(of_sklearn(max_iter=1), vectoriser).vocabulary_[:] == names
    assert not foreign.from_sklearn(of_sklearn(max_iter=1)).vocabulary_.named
    with pytest.raises(VocabularyMismatch, match=r"79 words.*80 columns"):
        foreign.from_sklearn(of_sklearn(max_iter=1), names[1:])


def test_tomotopy_is_read(of_tomotopy, score, halves):
    read = foreign.from_tomotopy(of_tomotopy).set_params(client=False, progress=False)
    topics = np.array([of_tomotopy.get_topic_word_dist(k) for k in range(4)])
    known = {"vocabulary": list(of_tomotopy.used_vocabs), "doc_topic_prior": of_tomotopy.alpha}
    assert score(read) == pytest.approx(score(topics, **known), **CLOSE)
    assert score(foreign.from_gensim(foreign.to_gensim(read))) == pytest.approx(score(read), **CLOSE)
    statistics = read.components_ - read.topic_word_prior_
    np.testing.assert_allclose(statistics.sum(axis=1), of_tomotopy.get_count_by_topics(), rtol=1e-4)
    read.partial_fit(halves[1].corpus)
    n_tokens = of_tomotopy.num_words + halves[1].matrix.sum()
    assert (read.components_ - read.topic_word_prior_).sum() == pytest.approx(n_tokens, rel=1e-4)


def test_priors_of_words_of_tomotopy_are_read(tomotopy):
    model = tomotopy.LDAModel(k=2, alpha=0.1, eta=0.5, seed=1)
    model.add_doc(["a", "b", "a"])
    model.set_word_prior("b", [0.25, 4.0])
    model.train(1, workers=1)
    read = foreign.from_tomotopy(model)
    a, b = read.vocabulary_.index_of(["a", "b"])
    np.testing.assert_array_equal(read.topic_word_prior_[:, [a, b]], [[0.5, 0.25], [0.5, 4.0]])
    assert read.components_[:, b].sum() == pytest.approx(1 + 0.25 + 4.0)


def test_tomotopy_there_and_back(counted, tomotopy, score, halves):
    theirs = foreign.to_tomotopy(counted)
    assert theirs.k == 4 and theirs.num_words == halves[0].matrix.sum()
    assert [word for word, _ in theirs.get_topic_words(1, 5)] == [w for w, _ in counted.show_topic(1, 5)]
    back = foreign.from_tomotopy(theirs).set_params(client=False, progress=False)
    assert score(back) == pytest.approx(score(counted), **CLOSE)
    np.testing.assert_allclose(back.doc_topic_prior_, 0.2)
    assert back.topic_word_prior_ == pytest.approx(0.05)


def test_tomotopy_infers_with_our_topics(counted, tomotopy, halves):
    """On average: it samples."""
    theirs = foreign.to_tomotopy(counted)
    documents = [theirs.make_doc(tokens) for tokens in halves[1].tokens]
    shares = np.array(theirs.infer(documents, iterations=500, workers=1)[0])
    ours = counted.transform(halves[1].corpus)
    assert np.abs(shares.mean(axis=0) - ours.mean(axis=0)).max() < 0.05
    assert (shares.argmax(axis=1) == ours.argmax(axis=1)).mean() > 0.8


def test_tomotopy_has_numbers_for_priors_and_no_empty_topics(halves, tomotopy):
    settings = {"method": "cgs", "max_iter": 1, "client": False, "progress": False}
    asymmetric = LDA(2, doc_topic_prior=[0.1, 0.2], **settings).fit(halves[0].corpus)
    with pytest.raises(SettingError, match="one number for all"):
        foreign.to_tomotopy(asymmetric)
    sparse = LDA(60, doc_topic_prior=1e-3, **settings).fit(np.eye(5, 40)[:, :20] * 3)
    with pytest.warns(BigtopicWarning, match=r"topics .* have no tokens and are left out"):
        theirs = foreign.to_tomotopy(sparse)
    assert 0 < theirs.k < 60 and theirs.num_words == 15
    nothing = LDA(2, method="vb", max_iter=1, client=False, progress=False).fit(np.eye(70, 70))
    nothing._model.topic_words.raw[:] = 0
    with pytest.raises(SettingError, match="less than one token"):
        foreign.to_tomotopy(nothing)


def test_soft_counts_are_rounded_for_tomotopy(ours, tomotopy, score, halves):
    theirs = foreign.to_tomotopy(ours)
    assert theirs.num_words == pytest.approx(halves[0].matrix.sum(), rel=0.05)
    assert score(foreign.from_tomotopy(theirs)) == pytest.approx(score(ours), abs=0.01)


def test_other_models_are_refused(of_tomotopy):
    from gensim.models import HdpModel
    from sklearn.decomposition import NMF, LatentDirichletAllocation

    hdp = HdpModel([[(0, 1)]], {0: "a"})
    for read, model, words in (
        (foreign.from_gensim, hdp, "HdpModel.*LdaModel"),
        (foreign.from_gensim, of_tomotopy, "LDAModel.*of gensim"),
        (foreign.from_sklearn, NMF(2).fit(np.ones((3, 4))), "NMF.*LatentDirichletAllocation"),
        (foreign.from_sklearn, LatentDirichletAllocation(), "a fitted LatentDirichletAllocation"),
        (foreign.from_tomotopy, hdp, "HdpModel.*LDAModel"),
        (foreign.to_gensim, DualTopicModel(), "DualTopicModel.*get_topics"),
        (foreign.to_tomotopy, DualTopicModel(), "DualTopicModel.*get_topics"),
    ):
        with pytest.raises(SettingError, match=words):
            read(model)


def test_scikit_learn_has_one_document_topic_prior():
    model = LDA(2, doc_topic_prior=[0.1, 0.2], max_iter=1, client=False).fit(np.ones((70, 3)))
    with pytest.raises(SettingError, match="one number for all"):
        foreign.to_sklearn(model)


def test_a_model_without_a_topic_word_prior_goes_there_and_back(halves, score):
    model = LDA(4, method="ml-ope", max_iter=1, client=False, progress=False).fit(halves[0].corpus)
    assert score(foreign.from_gensim(foreign.to_gensim(model))) == pytest.approx(score(model), rel=1e-4)
