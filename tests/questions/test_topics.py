"""Questions about topics alone: each figure is that of its equation, over the whole table of probabilities."""

import numpy as np
import pytest
from scipy.stats import rankdata

import bigtopic as bt
from bigtopic.errors import SettingError, VocabularyMismatch
from bigtopic.questions import words as words_module
from bigtopic.questions.table import Table
from bigtopic.questions.words import top_labels


@pytest.fixture(params=[False, True])
def small(request, monkeypatch):
    if request.param:
        monkeypatch.setattr("bigtopic.evaluation.source._ROWS", 7)
        monkeypatch.setattr(words_module, "FREX_CELLS", 90)


@pytest.fixture(scope="module")
def phi(model):
    """p(word | topic), float64 (n_components, n_words), and p(topic)."""
    weights = model.topic_source().weights
    return model.get_topics().astype(float), weights / weights.sum()


def columns_of(found):
    return Table.of(found).columns


def test_words_by_every_measure(model, phi, small):
    topics, shares = phi
    lift = topics / (shares @ topics)
    exclusive = topics / topics.sum(axis=0)
    ranks = [rankdata(values, "max", axis=1) / 80 for values in (exclusive, topics)]
    scores = {
        "words": topics,
        "relevant": 0.3 * np.log(topics) + 0.7 * np.log(lift),
        "lift": lift,
        "frex": 1 / (0.5 / ranks[0] + 0.5 / ranks[1]),
    }
    found = columns_of(model.topic_info(n_top=6, relevance=0.3))
    assert found["topic"] == [0, 1, 2, 3]
    np.testing.assert_allclose(found["share"], shares)
    np.testing.assert_allclose(found["size"], model.topic_source().weights)
    for name, values in scores.items():
        for k in range(4):
            ids = model.vocabulary_.index_of(found[name][k])
            np.testing.assert_allclose(values[k, ids], np.sort(values[k])[::-1][:6], rtol=1e-5)


def test_topics_of_a_word(model, phi, small):
    topics, shares = phi
    for word in ("w3", "w79"):
        i = model.vocabulary_.index_of([word])[0]
        joint = shares * topics[:, i]
        found = columns_of(model.find_topics(word))
        assert found["topic"] == np.argsort(-joint, kind="stable").tolist()
        np.testing.assert_allclose(found["probability"], np.sort(joint / joint.sum())[::-1], rtol=1e-6)
        for k, rank, lift in zip(found["topic"], found["rank"], found["lift"], strict=True):
            assert rank == 1 + (topics[k] > topics[k, i]).sum()
            assert lift == pytest.approx(topics[k, i] / (shares @ topics[:, i]), rel=1e-5)


def test_topics_of_several_words(model, phi):
    topics, shares = phi
    words = model.vocabulary_[3:6]
    ids = [3, 4, 5]
    joint = shares * topics[:, ids].prod(axis=1)
    found = columns_of(model.find_topics(words, n=2))
    np.testing.assert_allclose(found["probability"], np.sort(joint / joint.sum())[::-1][:2], rtol=1e-5)
    with pytest.raises(SettingError, match="'w99'; similar words: w"):
        model.find_topics(["w3", "w99"])
    with pytest.raises(SettingError, match="give a word"):
        model.find_topics([])


def test_of_many_words_those_that_begin_alike_are_suggested(model, monkeypatch):
    monkeypatch.setattr(words_module, "MOST_COMPARED", 2)
    with pytest.raises(SettingError, match="'w1x'; similar words: w1"):
        model.find_topics("w1x")
    with pytest.raises(SettingError, match=r"know the word 'v1'$"):
        model.find_topics("v1")


def test_labels_stay_with_the_model(asked, tmp_path):
    model = bt.LDA(3, method="online-cvb0", max_iter=1, client=False, progress=False).fit(asked)
    top = [" ".join(word for word, _ in topic) for topic in model.topics(3)]
    assert model.topic_labels_ == top
    assert model.set_topic_labels({1: "<rivers>"}).topic_labels_ == [top[0], "<rivers>", top[2]]
    model.save(tmp_path / "model.zarr")
    again = bt.load_model(tmp_path / "model.zarr")
    assert again.topic_labels_ == [top[0], "<rivers>", top[2]]
    assert columns_of(again.find_topics("w1"))["label"].count("<rivers>") == 1
    assert model.set_topic_labels(["a", "b", "c"]).topic_labels_ == ["a", "b", "c"]
    for wrong in ({3: "x"}, ["a"], "abc", {0: 1}):
        with pytest.raises(SettingError):
            model.set_topic_labels(wrong)
    for bad in ("a\nb", "a\x1b[31m", "a\u2028b", "half \ud800"):
        with pytest.raises(
            SettingError, match=r"^labels: topic 1 has .*; leave out line ends and other control"
        ):
            names = iter(["fine", bad, "fine"])
            model.set_topic_labels(lambda words, texts, names=names: next(names))
    with pytest.raises(SettingError, match=r"^labels: topic 2 has 201 characters; give at most 200"):
        model.set_topic_labels({0: "x" * 200, 2: "x" * 201})
    assert model.topic_labels_ == ["a", "b", "c"]
    assert model.fit(asked).topic_labels_ != ["a", "b", "c"]


def test_similar_topics(model, phi):
    roots = np.sqrt(phi[0])
    distance = np.linalg.norm(roots[:, None] - roots[None], axis=2) / np.sqrt(2)
    found = columns_of(model.similar_topics(2))
    assert found["other"] == [k for k in np.argsort(distance[2]).tolist() if k != 2]
    np.testing.assert_allclose(found["similarity"], 1 - np.sort(distance[2])[1:], atol=1e-6)
    pairs = columns_of(model.similar_topics(n=1))
    assert pairs["similarity"][0] == pytest.approx(1 - distance[np.triu_indices(4, 1)].min(), abs=1e-6)
    cosine = columns_of(model.similar_topics(2, measure="cosine"))
    norms = phi[0] / np.linalg.norm(phi[0], axis=1, keepdims=True)
    np.testing.assert_allclose(cosine["similarity"], np.sort(norms @ norms[2])[::-1][1:], atol=1e-6)
    with pytest.raises(SettingError, match="measure"):
        model.similar_topics(0, measure="euclid")


def test_changes_between_models(model, phi):
    changed = phi[0][[2, 0, 3, 1]].copy()  # the same topics under other numbers, and one of them changed
    words, rare = model.vocabulary_[:], np.argsort(changed[0])[:5]
    changed[0, rare] += 0.3
    other = bt.evaluate.topics_of(changed, vocabulary=words)
    found = columns_of(model.topic_changes(other, n_top=5))
    assert found["topic"][0] == 2 and dict(zip(found["topic"], found["other"], strict=True)) == {
        0: 1,
        1: 3,
        2: 0,
        3: 2,
    }
    assert set(found["gained"][0]) == {words[i] for i in rare} and found["similarity"][-1] == pytest.approx(
        1, abs=2e-3
    )
    labels = top_labels(other)
    assert [*found["other_label"]] == [labels[k] for k in found["other"]]
    fewer = bt.evaluate.topics_of(changed[:2, ::-1], vocabulary=words[::-1])
    found = columns_of(model.topic_changes(fewer))
    assert sum(np.isnan(value) if value == value else True for value in map(float, found["other"])) == 2
    with pytest.raises(VocabularyMismatch):
        model.topic_changes(bt.evaluate.topics_of(changed, vocabulary=[f"x{i}" for i in range(80)]))


def test_the_tree_joins_what_is_most_alike(model):
    tree = model.topic_tree()
    pair = columns_of(model.similar_topics(n=1))
    joined = next(group for group in tree.cut(3) if len(group) == 2)
    assert joined == sorted([pair["topic"][0], pair["other"][0]])
    assert tree.cut(4) == [[0], [1], [2], [3]] and tree.cut(1) == [[0, 1, 2, 3]]
    assert tree.linkage.shape == (3, 4) and len(repr(tree).splitlines()) == 7
    assert "<pre>" in tree._repr_html_()
    with pytest.raises(SettingError):
        tree.cut(5)


@pytest.mark.parametrize("method", ["online-cvb0", "cgs", "author-vb"])
def test_merged_topics_are_sums(asked, method, tmp_path):
    kind = bt.AuthorTopicModel if method.startswith("author") else bt.LDA
    documents = asked.select(rows=[row for row in range(300) if row % 4 != 2])
    settings = {"average": 0.5} if method == "online-cvb0" else {}
    model = kind(5, method=method, max_iter=2, client=False, progress=False, **settings).fit(documents)
    model.set_topic_labels({0: "zero", 1: "one"})
    merged = model.merge_topics([[4, 1], [2, 3]])
    assert merged.n_components == 3 and merged.topic_labels_[0] == "zero" != merged.topic_labels_[1]
    groups = [[0], [1, 4], [2, 3]]
    before, prior = model.components_.astype(float), float(np.mean(model.topic_word_prior_))
    expected = [before[group].sum(axis=0) - (len(group) - 1) * prior for group in groups]
    np.testing.assert_allclose(merged.components_, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        merged.doc_topic_prior_, [model.doc_topic_prior_[group].sum() for group in groups], rtol=1e-6
    )
    merged.save(tmp_path / "merged.zarr")
    again = bt.load_model(tmp_path / "merged.zarr").set_params(client=False)
    np.testing.assert_array_equal(again.transform(documents), merged.transform(documents))
    again.partial_fit(documents)
    if method == "author-vb":
        own = [model.array("author_topics").values[:, group].sum(axis=1) for group in groups]
        np.testing.assert_allclose(merged.array("author_topics").values, np.transpose(own), rtol=1e-4)


@pytest.mark.parametrize(
    ("method", "name"), [("author-cvb", "author_variances"), ("online-author-vb", "author_documents")]
)
def test_what_is_not_of_topics_is_that_of_the_merged_model(asked, method, name):
    documents = asked.select(rows=[row for row in range(300) if row % 4 != 2])
    model = bt.AuthorTopicModel(4, method=method, max_iter=2, client=False, progress=False).fit(documents)
    before = model._model.params[name].gather(None)
    merged = model.merge_topics([[0, 1]])._model.params[name]
    assert before[:, 0].min() > 0
    np.testing.assert_array_equal(merged.gather(None), before)
    merged.raw[:] = 0
    np.testing.assert_array_equal(model._model.params[name].gather(None), before)


def test_a_merged_model_can_be_fitted_anew(asked):
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    model = bt.LDA(4, doc_topic_prior=prior, max_iter=1, client=False, n_threads=1, progress=False)
    merged = model.fit(asked[:50]).merge_topics([[0, 3]])
    np.testing.assert_allclose(merged.doc_topic_prior, [0.5, 0.2, 0.3])
    assert merged.fit(asked[:50]).n_components == 3


def test_topics_that_cannot_be_merged(model):
    for groups, message in (([[0, 4]], "0 to 3"), ([[0, 1], [1]], "twice"), ([0, 1], "give lists")):
        with pytest.raises(SettingError, match=message):
            model.merge_topics(groups)
    dual = bt.DualTopicModel(2, 2, max_iter=2, client=False).fit(np.eye(6, dtype=int) + 1)
    with pytest.raises(SettingError, match="kinds"):
        dual.merge_topics([[0, 1]])


def test_an_unknown_column_is_refused_with_those_that_are_there():
    bare = bt.from_matrix(np.ones((4, 3), int), ["a", "b", "c"])
    model = bt.LDA(2, method="online-cvb0", max_iter=1, client=False, progress=False).fit(bare)
    with pytest.raises(
        SettingError, match=r"no column 'section': the documents have no columns and no authors; "
    ):
        model.topics_over("section", bare)
    with pytest.raises(SettingError, match=r"^there is no column 'authors': the documents have no columns"):
        model.topics_over("authors", bare)
