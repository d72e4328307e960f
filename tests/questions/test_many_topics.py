"""Questions to topics that are lists have the answers of the same topics with dense rows."""

import numpy as np
import pandas as pd
import pytest
from many import N_TOPICS, N_WORDS, corpus_of_many, dense_twin, fit_sparse, sparse_and_dense
from scipy.stats import rankdata

import bigtopic as bt
from bigtopic import evaluate
from bigtopic.errors import SettingError
from bigtopic.evaluation import source as sources
from bigtopic.evaluation.sparse import pairs
from bigtopic.questions import compare, maps, words
from bigtopic.state import machine_memory, new_model


@pytest.fixture(scope="module")
def corpus():
    return corpus_of_many()


@pytest.fixture(scope="module")
def models(corpus):
    return sparse_and_dense(corpus)


@pytest.fixture(scope="module")
def theta(models, corpus, tmp_path_factory):
    return models[0].transform_to(corpus, tmp_path_factory.mktemp("theta") / "theta.zarr")


@pytest.fixture
def no_rows(monkeypatch):
    """Dense rows of all words are refused."""

    def refuse(*_):
        raise AssertionError("dense rows of all words")

    for module in (sources, words, compare):
        monkeypatch.setattr(module, "rows_of", refuse)


QUESTIONS = {
    "topics": lambda model: model.topics(12),
    "frame": lambda model: model.topics_frame(3),
    "labels": lambda model: model.topic_labels_,
    "one": lambda model: model.show_topic(5, 7),
    "unused": lambda model: model.unused_topics_,
    "find": lambda model: model.find_topics("w017", 8),
    "find several": lambda model: model.find_topics(["w017", "w200"], 8),
    "similar": lambda model: model.similar_topics(4, 9),
    "similar, cosine": lambda model: model.similar_topics(4, 9, measure="cosine"),
    "pairs": lambda model: model.similar_topics(n=25),
    "pairs, cosine": lambda model: model.similar_topics(n=25, measure="cosine"),
    "all pairs": lambda model: model.similar_topics(n=5000),
    "info": lambda model: model.topic_info(n_top=9),
    "tree": lambda model: model.topic_tree().linkage,
    "tree, cosine": lambda model: model.topic_tree("cosine").linkage,
    "tree of some": lambda model: model.topic_tree(topics=[50, 3, 7, 21]).linkage,
    "page": lambda model: words.relevant_words(model.topic_source(), 6),
    "page of some": lambda model: words.relevant_words(model.topic_source(), 6, topics=[9, 2]),
    "diversity": lambda model: evaluate.measure(model, measures="diversity")["diversity"].value,
    "exclusivity": lambda model: evaluate.measure(model, measures="exclusivity")["exclusivity"].per_topic,
    "entropy": lambda model: evaluate.measure(model, measures="entropy")["entropy"].per_topic,
}


def assert_alike(found, known):
    if isinstance(known, pd.DataFrame):
        pd.testing.assert_frame_equal(found, known, rtol=1e-4)
    elif isinstance(known, list) and known and isinstance(known[0], list):
        for own, others in zip(found, known, strict=True):
            assert [word for word, *_ in own] == [word for word, *_ in others]
            np.testing.assert_allclose([n for _, *n in own], [n for _, *n in others], rtol=1e-4)
    elif isinstance(known, list) and isinstance(known[0], tuple):
        assert_alike([found], [known])
    elif isinstance(known, list):
        assert found == known
    else:
        np.testing.assert_allclose(found, known, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_is_that_of_dense_rows(question, models):
    sparse, dense = models
    assert_alike(QUESTIONS[question](sparse), QUESTIONS[question](dense))


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_dense_rows_are_made_of_all_words(question, models, no_rows):
    QUESTIONS[question](models[0])


def scores_of(source, order):
    """The scores of `questions.words` by their formulas, (n_words, n_topics)."""
    p = source.gather(np.arange(N_WORDS, dtype=np.int32)).astype(np.float64)
    lift = p / (p @ words.shares_of(source))[:, None]
    exclusivity = p / p.sum(axis=1, keepdims=True)
    ranks = [rankdata(x.astype(np.float32), method="max", axis=0) / N_WORDS for x in (exclusivity, p)]
    return {
        "probability": p,
        "lift": lift,
        "relevance": 0.6 * np.log(p) + 0.4 * np.log(lift),
        "frex": 2 / (1 / ranks[0] + 1 / ranks[1]),
    }[order]


@pytest.mark.parametrize("order", words.ORDERS)
@pytest.mark.parametrize("n", [1, 40, N_WORDS])
def test_the_best_words_are_those_with_the_largest_scores(order, n, models):
    """Up to all words, also of topics that have statistics of few; ranks may differ by one, where two are equal."""
    source = models[0].topic_source()
    scores = scores_of(models[1].topic_source(), order)
    found = words.best_words(source, n, {order: 0.6})[order]
    assert all(len({*own}) == n for own in found)
    for k, own in enumerate(found):
        best = np.sort(scores[:, k])[::-1][:n]
        np.testing.assert_allclose(
            scores[source.vocabulary.index_of(own), k], best, rtol=2e-2, err_msg=f"{k}"
        )


def test_topics_of_another_model_are_matched_by_name(models, corpus):
    sparse, dense = models
    fewer = bt.from_matrix(corpus.to_scipy()[:, 40:], corpus.vocabulary[40:])
    other = bt.LDA(7, method="online-cvb0", max_iter=2, progress=False, client=False).fit(fewer)
    found, known = ([one.topic_changes(other), evaluate.align(one, other)] for one in models)
    matched = [table[table["other"].notna()].set_index("topic") for table, _ in (found, known)]
    pd.testing.assert_frame_equal(*(table[["other", "similarity", "lost"]] for table in matched), rtol=1e-4)
    np.testing.assert_allclose(found[1].per_topic, known[1].per_topic, rtol=1e-4)
    assert (evaluate.align(sparse, dense).per_topic < 1e-3).all()


def test_words_that_rose_and_fell_are_those_of_dense_rows(models, monkeypatch):
    sparse, dense = models
    monkeypatch.setattr(new_model, "SPARSE_FROM", 8)
    later = sparse.merge_topics([[k, k + 1] for k in range(0, 20, 2)])
    found, known = (a.topic_changes(b, n_top=3) for a, b in ((sparse, later), (dense, dense_twin(later))))
    changed = [table[table["similarity"] < 0.9].set_index("topic").sort_index() for table in (found, known)]
    assert len(changed[0]) > 2
    pd.testing.assert_frame_equal(*(table[["other", "similarity", "lost"]] for table in changed), rtol=1e-4)


def test_similarities_of_two_models_with_lists_of_other_words(models, corpus):
    sparse, dense = models
    fewer = bt.from_matrix(corpus.to_scipy()[:, 40:], corpus.vocabulary[40:])
    other = fit_sparse(fewer, 20)
    for measure in compare.MEASURES:
        found = compare.similarity(sparse.topic_source(), other.topic_source(), measure)
        known = compare.similarity(dense.topic_source(), dense_twin(other).topic_source(), measure)
        np.testing.assert_allclose(found, known, atol=1e-6)
        some = compare.similarity(sparse.topic_source(), other.topic_source(), measure, topics=[2, 33])
        np.testing.assert_allclose(some, known[[2, 33]], atol=1e-6)


def test_blocks_change_nothing(models, monkeypatch):
    source = models[0].topic_source()
    known, pairs_known = compare.similarity(source), compare.similar_topics(source, None, 10)
    monkeypatch.setattr(pairs, "_BYTES", 3 * 8 * N_TOPICS)
    assert compare.similarity(source).tobytes() == known.tobytes()
    for found, expected in zip(compare.similar_topics(source, None, 10), pairs_known, strict=True):
        assert found.tobytes() == expected.tobytes()


def test_the_map_is_that_of_dense_rows(models, monkeypatch):
    found, known = (model.topic_map()[["x", "y"]].to_numpy() for model in models)
    np.testing.assert_allclose(found, known, atol=2e-3)
    monkeypatch.setattr(maps, "_FEW", 10)  # nor are all eigenvalues computed
    cosine, other = (model.topic_map("cosine")[["x", "y"]].to_numpy() for model in models)
    np.testing.assert_allclose(cosine, other, atol=2e-3)
    np.testing.assert_allclose(models[1].topic_map()[["x", "y"]].to_numpy(), known, atol=2e-3)


def test_a_tree_of_some_topics_has_their_numbers(models):
    tree = models[0].topic_tree(topics=[50, 3, 7, 21])
    assert tree.cut(1) == [[3, 7, 21, 50]] and tree.cut(4) == [[3], [7], [21], [50]]
    assert {line.split()[0] for line in tree.text().splitlines() if "w" in line} == {"3", "7", "21", "50"}


def test_merged_topics_are_those_of_dense_rows(models, corpus, monkeypatch):
    sparse, dense = models
    groups = [[4, 1, 9], [2, 3]]
    known = dense.merge_topics(groups).get_topics()
    np.testing.assert_allclose(sparse.merge_topics(groups).get_topics(), known, rtol=1e-4)  # into dense rows
    monkeypatch.setattr(new_model, "SPARSE_FROM", 8)
    merged = sparse.merge_topics(groups)
    assert merged.topic_source().lists() is not None
    np.testing.assert_allclose(merged.get_topics(), known, rtol=1e-4)
    assert merged.transform(corpus).shape == (corpus.n_docs, N_TOPICS - 3)
    assert len(merged.partial_fit(corpus).topics()) == N_TOPICS - 3


@pytest.mark.parametrize("question", ["components_", "get_topics", "exp_dirichlet_component_", "array"])
def test_dense_arrays_are_those_of_dense_rows_or_refused(question, models, monkeypatch):
    def ask(model):
        found = getattr(model, question)
        return found("topic_words").values if question == "array" else found() if callable(found) else found

    sparse, dense = models
    np.testing.assert_allclose(ask(sparse), ask(dense), rtol=1e-4)
    monkeypatch.setattr(machine_memory, "total_bytes", lambda: 4 * N_WORDS * N_TOPICS)
    with pytest.raises(
        SettingError, match=r"needs about 0\.\d GB, but the machine has .*topic_source\(\)\.gather"
    ):
        ask(sparse)


REFUSED = {
    "align": lambda model, corpus: evaluate.align(model, model),
    "changes": lambda model, corpus: model.topic_changes(model),
    "cosine map": lambda model, corpus: model.topic_map("cosine"),
    "tree": lambda model, corpus: model.topic_tree(),
    "correlation": lambda model, corpus: model.topic_correlation(corpus),
    "snapshot": lambda model, corpus: model.snapshot(corpus),
    "transform": lambda model, corpus: model.transform(corpus),
    "pyldavis": lambda model, corpus: model.pyldavis_input(corpus),
    "gensim": lambda model, corpus: bt.foreign.to_mallet(model, "nowhere"),
}


@pytest.mark.parametrize("question", REFUSED)
def test_what_has_no_room_is_refused_with_the_bytes_and_a_remedy(question, models, corpus, monkeypatch):
    monkeypatch.setattr(machine_memory, "total_bytes", lambda: 2000)
    remedy = r"give topics=|merge topics|merge_topics|sparse=True|fewer topics"
    with pytest.raises(SettingError, match=rf"needs? about .* GB, but the machine has .*({remedy})"):
        REFUSED[question](models[0], corpus)
    models[0].similar_topics(3)
    models[0].topic_map()


def test_correlation_and_shares_of_some_topics(models, corpus, theta):
    model, some = models[0], [7, 2, 31]
    known = model.topic_correlation(theta=theta).to_numpy()
    found = model.topic_correlation(theta=theta, topics=some)
    assert found.index.tolist() == some
    np.testing.assert_allclose(found.to_numpy(), known[np.ix_(some, some)], atol=1e-12)
    names = [(str(name), ["ann", "bob"][i % 2]) for i, name in enumerate(corpus.document_ids())]
    every = model.topics_over("authors", corpus.with_authors(names), theta=theta)
    own = model.topics_over("authors", corpus.with_authors(names), theta=theta, topics=some)
    known = every.set_index(["authors", "topic"]).loc[[(a, k) for a in ("ann", "bob") for k in some]]
    pd.testing.assert_frame_equal(own.set_index(["authors", "topic"]), known)


def test_documents_have_the_topics_of_which_they_have_tokens(models, corpus):
    model = models[0]
    topics, prior = model.transform(corpus), model.doc_topic_prior_
    has = (topics / prior) > (topics / prior).min(axis=1, keepdims=True) * 1.001
    assert 1 < has.sum(axis=1).mean() < 9 and has.any(axis=1).all()
    name = str(corpus.document_ids()[17])
    found = model.document(name, corpus)
    shares = np.where(has, topics, 0)[17]
    assert found.topics["topic"].tolist() == np.argsort(-shares, kind="stable")[: (shares > 0).sum()].tolist()
    np.testing.assert_allclose(
        found.topics["share"], np.sort(shares[shares > 0])[::-1] / shares.sum(), rtol=1e-5
    )
    k = int(has.sum(axis=0).argmax())
    about = model.documents(k, corpus, n=500)
    assert len(about) == has[:, k].sum()
    assert set(found.words["topic"]) <= set(found.topics["topic"])


def test_documents_without_a_known_word_have_no_topics(models):
    counts = np.array([[2, 3, 0]] * 200 + [[0, 0, 1]])
    other = bt.from_matrix(counts, ["w001", "w002", "unknown"])
    assert models[0].topic_correlation(other).shape == (N_TOPICS, N_TOPICS)
    assert models[0].document_map(other)["row"].max() == 199


def test_the_map_of_documents_is_that_of_few_topics(models, corpus, theta, monkeypatch):
    known = models[0].document_map(theta=theta)[["x", "y"]].to_numpy()
    monkeypatch.setattr(maps, "_FEW", 10)
    found = models[0].document_map(theta=theta)[["x", "y"]].to_numpy()
    np.testing.assert_allclose(np.abs(found), np.abs(known), atol=5e-3)


def test_representative_documents_are_those_with_the_largest_shares(models, corpus):
    model, topics = models[0], models[0].transform(corpus)
    found = model.representative_documents(corpus, 3, min_tokens=0)
    for k, own in enumerate(found):
        np.testing.assert_allclose([share for _, share in own], np.sort(topics[:, k])[::-1][:3], rtol=1e-6)
